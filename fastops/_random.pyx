"""Random numbers: element e of a stream is a function of the key and of e, so that the bits depend neither on the number of
threads nor on how a draw is cut into pieces.

Uniform, normal, exponential and whole numbers take a fixed number of bits, and of arithmetic only what IEEE 754 fixes to the
last bit (`_elementary.h`): they are the same on every processor. All other distributions are NumPy's own samplers
(``numpy/random/distributions.h``), each element with a stream of its own.
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

from fastops._dispatch cimport Tensor
from fastops._loops cimport DIMENSIONS, LONG_WORK, Nest, nest_begin, nest_next, nest_operand

cdef extern from "_philox.h":
    ctypedef struct Block "fastops_block":
        uint32_t word[4]
    ctypedef struct Stream "fastops_stream":
        uint64_t key
        uint64_t element
        uint32_t position
        uint32_t used
    enum:
        FASTOPS_WORDS
        FASTOPS_NORMAL
        FASTOPS_WIDE_WORDS
    Block fastops_philox(uint32_t, uint32_t, uint32_t, uint32_t, uint64_t) noexcept nogil
    Block fastops_block_of(uint64_t, uint32_t, uint32_t, uint64_t) noexcept nogil
    uint64_t fastops_word(uint64_t, uint64_t) noexcept nogil
    void fastops_words(uint64_t *, int64_t, uint64_t, uint32_t, uint64_t) noexcept nogil
    double fastops_unit(uint64_t) noexcept nogil
    uint32_t fastops_next_32(void *) noexcept nogil
    uint64_t fastops_next_64(void *) noexcept nogil
    double fastops_next_double(void *) noexcept nogil

cdef extern from "_elementary.h":
    void fastops_normals(const uint64_t *, double *, int64_t) noexcept nogil
    void fastops_exponentials(const uint64_t *, double *, int64_t) noexcept nogil

cdef extern from *:
    """
    #if defined(__SIZEOF_INT128__)
    #define fastops_high(a, b) ((uint64_t)((unsigned __int128)(a) * (b) >> 64))
    #else
    static inline uint64_t fastops_high(uint64_t a, uint64_t b) {
        uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
        uint64_t middle = ah * bl + (al * bl >> 32), other = al * bh + (uint32_t)middle;
        return ah * bh + (middle >> 32) + (other >> 32);
    }
    #endif
    """
    uint64_t fastops_high(uint64_t, uint64_t) noexcept nogil

cdef extern from "numpy/random/distributions.h":
    ctypedef struct Bits "bitgen_t":
        void *state
        uint64_t (*next_uint64)(void *) noexcept nogil
        uint32_t (*next_uint32)(void *) noexcept nogil
        double (*next_double)(void *) noexcept nogil
        uint64_t (*next_raw)(void *) noexcept nogil
    ctypedef struct Binomial "binomial_t":
        int has_binomial
    double random_standard_gamma(Bits *, double) noexcept nogil
    double random_beta(Bits *, double, double) noexcept nogil
    double random_f(Bits *, double, double) noexcept nogil
    double random_standard_cauchy(Bits *) noexcept nogil
    double random_laplace(Bits *, double, double) noexcept nogil
    double random_gumbel(Bits *, double, double) noexcept nogil
    double random_logistic(Bits *, double, double) noexcept nogil
    double random_standard_t(Bits *, double) noexcept nogil
    double random_noncentral_chisquare(Bits *, double, double) noexcept nogil
    double random_noncentral_f(Bits *, double, double, double) noexcept nogil
    double random_wald(Bits *, double, double) noexcept nogil
    double random_vonmises(Bits *, double, double) noexcept nogil
    double random_triangular(Bits *, double, double, double) noexcept nogil
    int64_t random_poisson(Bits *, double) noexcept nogil
    int64_t random_negative_binomial(Bits *, double, double) noexcept nogil
    int64_t random_binomial(Bits *, double, int64_t, Binomial *) noexcept nogil
    int64_t random_logseries(Bits *, double) noexcept nogil
    int64_t random_geometric(Bits *, double) noexcept nogil
    int64_t random_zipf(Bits *, double) noexcept nogil
    int64_t random_hypergeometric(Bits *, int64_t, int64_t, int64_t) noexcept nogil

cdef enum Distribution:
    WORDS, UNIFORM, NORMAL, EXPONENTIAL, INTEGERS, GAMMA, BETA, F, CAUCHY, LAPLACE, GUMBEL, LOGISTIC, STUDENT, NONCENTRAL_CHISQUARE
    NONCENTRAL_F, WALD, VONMISES, TRIANGULAR, POISSON, NEGATIVE_BINOMIAL, BINOMIAL, LOGSERIES, GEOMETRIC, ZIPF, HYPERGEOMETRIC

CODES = {"words": WORDS, "random": UNIFORM, "standard_normal": NORMAL, "standard_exponential": EXPONENTIAL, "integers": INTEGERS,
         "standard_gamma": GAMMA, "beta": BETA, "f": F, "standard_cauchy": CAUCHY, "laplace": LAPLACE, "gumbel": GUMBEL,
         "logistic": LOGISTIC, "standard_t": STUDENT, "noncentral_chisquare": NONCENTRAL_CHISQUARE, "noncentral_f": NONCENTRAL_F,
         "wald": WALD, "vonmises": VONMISES, "triangular": TRIANGULAR, "poisson": POISSON, "negative_binomial": NEGATIVE_BINOMIAL,
         "binomial": BINOMIAL, "logseries": LOGSERIES, "geometric": GEOMETRIC, "zipf": ZIPF, "hypergeometric": HYPERGEOMETRIC}


def philox(uint64_t first, uint64_t second, uint64_t key):
    """The four words of one block, for tests against the published values."""
    cdef Block block = fastops_philox(<uint32_t>first, <uint32_t>(first >> 32), <uint32_t>second, <uint32_t>(second >> 32), key)
    return [block.word[0], block.word[1], block.word[2], block.word[3]]


def fill_fixed(str distribution, Tensor target not None, uint64_t key, uint64_t counter):
    """Fill a gapless tensor with words, uniform, normal or exponential numbers: those of the elements from *counter* on."""
    cdef int code = CODES[distribution]
    if target.count < LONG_WORK:
        fill_fixed_range(code, target, key, counter)
    else:
        with nogil:
            fill_fixed_range(code, target, key, counter)


cdef enum:
    CHUNK = 512                 # words that are made at once; even, so that pairs stay together


cdef void fill_fixed_range(int code, Tensor target, uint64_t key, uint64_t counter) noexcept nogil:
    # A chunk begins with an even element, whose pair shares a block; what stands before the first one is not kept.
    cdef uint64_t words[CHUNK]
    cdef double values[CHUNK]
    cdef uint64_t first = counter
    cdef Py_ssize_t done = 0, skipped, count, made
    cdef bint single = target.element.itemsize == 4
    if code == WORDS:
        fastops_words(<uint64_t *>target.data, target.count, counter, FASTOPS_WORDS, key)
        return
    while done < target.count:
        first = counter + done
        skipped = first & 1
        count = min(CHUNK - skipped, target.count - done)
        made = (count + skipped + 1) // 2 * 2
        fastops_words(words, made, first - skipped, FASTOPS_NORMAL if code == NORMAL else FASTOPS_WORDS, key)
        if code == NORMAL:
            fastops_normals(words, values, made // 2)
        elif code == EXPONENTIAL:
            fastops_exponentials(words, values, made)
        if code == UNIFORM:
            uniforms(words + skipped, target.data + done * target.element.itemsize, single, count)
        else:
            stored(values + skipped, target.data + done * target.element.itemsize, single, count)
        done += count


cdef void uniforms(const uint64_t *words, char *place, bint single, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t position
    if single:
        for position in range(count):
            (<float *>place)[position] = <float>((words[position] >> 40) * 5.9604644775390625e-08)
    else:
        for position in range(count):
            (<double *>place)[position] = fastops_unit(words[position])


cdef void stored(const double *values, char *place, bint single, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t position
    for position in range(count):
        if single:
            (<float *>place)[position] = <float>values[position]
        else:
            (<double *>place)[position] = values[position]


cdef inline uint64_t below(uint64_t most, uint64_t element, uint64_t key) noexcept nogil:
    # A whole number from 0 to most: the upper bits of a product. Of 64 bits where that is fair to 2**-32, else of 128.
    cdef Block block
    cdef uint64_t low, high, carry, product
    if most == 0xFFFFFFFFFFFFFFFFu:
        return fastops_word(element, key)
    if most < 0x100000000u:
        return fastops_high(fastops_word(element, key), most + 1)
    block = fastops_block_of(element, 0, FASTOPS_WIDE_WORDS, key)
    low = block.word[0] | <uint64_t>block.word[1] << 32
    high = block.word[2] | <uint64_t>block.word[3] << 32
    product = high * (most + 1)
    carry = fastops_high(low, most + 1)
    return fastops_high(high, most + 1) + (1 if product + carry < product else 0)


cdef void few_values(uint64_t *target, Py_ssize_t count, uint64_t low, uint64_t most, uint64_t key, uint64_t counter) noexcept nogil:
    # What `below` gives for few values, many elements at a time.
    cdef Py_ssize_t position
    fastops_words(target, count, counter, FASTOPS_WORDS, key)
    for position in range(count):
        target[position] = low + fastops_high(target[position], most + 1)


def fill_range(Tensor target not None, uint64_t low, uint64_t most, uint64_t key, uint64_t counter):
    """Fill a gapless uint64 tensor with low + a number from 0 to most, the same bounds for all."""
    cdef Py_ssize_t position
    cdef uint64_t *values = <uint64_t *>target.data
    if most < 0x100000000u:
        with nogil:
            few_values(values, target.count, low, most, key, counter)
        return
    with nogil:
        for position in range(target.count):
            values[position] = low + below(most, counter + position, key)


def fill_integers(Tensor target not None, Tensor low not None, Tensor most not None, uint64_t key, uint64_t counter):
    """Fill a gapless int64 or uint64 tensor with low + a number from 0 to most (uint64), both of target's shape."""
    cdef Nest nest
    cdef Py_ssize_t counts[DIMENSIONS]
    cdef char *pointers[3]
    cdef uint64_t element = counter
    if target.count == 0:
        return
    memset(counts, 0, sizeof(counts))
    nest_begin(&nest, target.rank, target.sizes)
    nest_operand(&nest, target.data, target.rank, target.sizes, target.steps)
    nest_operand(&nest, low.data, low.rank, low.sizes, low.steps)
    nest_operand(&nest, most.data, most.rank, most.sizes, most.steps)
    pointers[0], pointers[1], pointers[2] = nest.data[0], nest.data[1], nest.data[2]
    with nogil:
        while True:
            (<uint64_t *>pointers[0])[0] = (<uint64_t *>pointers[1])[0] + below((<uint64_t *>pointers[2])[0], element, key)
            element += 1
            if not nest_next(&nest, counts, pointers, 0):
                break


def fill_sampled(str distribution, Tensor target not None, list parameters, uint64_t key, uint64_t counter):
    """Fill a gapless tensor of float64 or int64 by one of NumPy's samplers; parameters are float64, of target's shape."""
    cdef Nest nest
    cdef Py_ssize_t counts[DIMENSIONS]
    cdef char *pointers[4]
    cdef int code = CODES[distribution], place, count = <int>len(parameters)
    cdef Tensor parameter
    cdef Stream stream
    cdef Bits bits
    cdef Binomial binomial
    if target.count == 0:
        return
    memset(counts, 0, sizeof(counts))
    memset(&binomial, 0, sizeof(binomial))
    nest_begin(&nest, target.rank, target.sizes)
    nest_operand(&nest, target.data, target.rank, target.sizes, target.steps)
    for place in range(count):
        parameter = <Tensor>parameters[place]
        nest_operand(&nest, parameter.data, parameter.rank, parameter.sizes, parameter.steps)
    for place in range(count + 1):
        pointers[place] = nest.data[place]
    stream.key, stream.element = key, counter
    bits.state = &stream
    bits.next_uint64 = fastops_next_64
    bits.next_uint32 = fastops_next_32
    bits.next_double = fastops_next_double
    bits.next_raw = fastops_next_64
    with nogil:
        while True:
            stream.position, stream.used = 0, 4
            sample(code, &bits, pointers, &binomial)
            stream.element += 1
            if not nest_next(&nest, counts, pointers, 0):
                break


cdef void sample(int code, Bits *bits, char **pointers, Binomial *binomial) noexcept nogil:
    cdef double *real = <double *>pointers[0]
    cdef int64_t *whole = <int64_t *>pointers[0]
    cdef double *a = <double *>pointers[1]
    cdef double *b = <double *>pointers[2]
    cdef double *c = <double *>pointers[3]
    if code == GAMMA:
        real[0] = random_standard_gamma(bits, a[0])
    elif code == BETA:
        real[0] = random_beta(bits, a[0], b[0])
    elif code == F:
        real[0] = random_f(bits, a[0], b[0])
    elif code == CAUCHY:
        real[0] = random_standard_cauchy(bits)
    elif code == LAPLACE:
        real[0] = random_laplace(bits, 0.0, 1.0)
    elif code == GUMBEL:
        real[0] = random_gumbel(bits, 0.0, 1.0)
    elif code == LOGISTIC:
        real[0] = random_logistic(bits, 0.0, 1.0)
    elif code == STUDENT:
        real[0] = random_standard_t(bits, a[0])
    elif code == NONCENTRAL_CHISQUARE:
        real[0] = random_noncentral_chisquare(bits, a[0], b[0])
    elif code == NONCENTRAL_F:
        real[0] = random_noncentral_f(bits, a[0], b[0], c[0])
    elif code == WALD:
        real[0] = random_wald(bits, a[0], b[0])
    elif code == VONMISES:
        real[0] = random_vonmises(bits, a[0], b[0])
    elif code == TRIANGULAR:
        real[0] = random_triangular(bits, a[0], b[0], c[0])
    elif code == POISSON:
        whole[0] = random_poisson(bits, a[0])
    elif code == NEGATIVE_BINOMIAL:
        whole[0] = random_negative_binomial(bits, a[0], b[0])
    elif code == BINOMIAL:
        whole[0] = random_binomial(bits, b[0], <int64_t>a[0], binomial)
    elif code == LOGSERIES:
        whole[0] = random_logseries(bits, a[0])
    elif code == GEOMETRIC:
        whole[0] = random_geometric(bits, a[0])
    elif code == ZIPF:
        whole[0] = random_zipf(bits, a[0])
    elif code == HYPERGEOMETRIC:
        whole[0] = random_hypergeometric(bits, <int64_t>a[0], <int64_t>b[0], <int64_t>c[0])
