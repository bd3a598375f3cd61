/* sin and cos of float64, as loops that a compiler turns into vector instructions.

   NumPy calls the C library for each element, which takes some 4.5 ns. Here blocks of ordinary numbers are computed side
   by side: the argument is reduced by multiples of pi/2 that are subtracted in three exact pieces, the rest by the
   polynomials of the reduced range (the coefficients are those published with fdlibm, s_sin.c and k_cos.c). A block
   that holds a tiny, a large or a non-finite number goes to the C library as a whole, so that its flags and its
   special cases are the library's. */

#ifndef FASTOPS_TRIGONOMETRIC_H
#define FASTOPS_TRIGONOMETRIC_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__)
#define FASTOPS_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FASTOPS_WIDE
#endif

enum { FASTOPS_BLOCK = 64 };

/* One number, 0 <= x <= 1e5: quarter is 0 for its sine, 1 for its cosine. */
static inline double fastops_quarter_turn(double x, int64_t quarter) {
    const double to_integer = 6755399441055744.0; /* 1.5 * 2**52: adding it rounds to a whole number */
    double shifted = x * 0.63661977236758134308 + to_integer, n = shifted - to_integer;
    double t, w, r, b, tail, z, v, s, c, half, one_less, result;
    int64_t turns, bits;
    /* x - n * pi/2, the last bits in tail; the pieces of pi/2 have 33 bits, so the products are exact */
    t = x - n * 1.57079632673412561417e+00;
    w = n * 6.07710050630396597660e-11;
    r = t - w;
    b = r - t;
    tail = (t - (r - b)) - (w + b);
    t = r;
    w = n * 2.02226624871116645580e-21;
    r = t - w;
    b = r - t;
    tail += (t - (r - b)) - (w + b);
    tail -= n * 8.47842766036889956997e-32;
    t = r + tail;
    tail = (r - t) + tail;
    z = t * t;
    v = z * t;
    s = 8.33333333332248946124e-03 +
        z * (-1.98412698298579493134e-04 +
             z * (2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
    s = t - ((z * (0.5 * tail - v * s) - tail) - v * -1.66666666666666324348e-01);
    c = z * (4.16666666666666019037e-02 +
             z * (-1.38888888888741095749e-03 +
                  z * (2.48015872894767294178e-05 +
                       z * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
    half = 0.5 * z;
    one_less = 1.0 - half;
    c = one_less + (((1.0 - one_less) - half) + (z * c - t * tail));
    memcpy(&turns, &shifted, 8);
    turns += quarter;
    result = turns & 1 ? c : s;
    memcpy(&bits, &result, 8);
    bits ^= (turns & 2) << 62;
    memcpy(&result, &bits, 8);
    return result;
}

static inline int fastops_is_ordinary(const double *x, ptrdiff_t count) {
    int ordinary = 1;
    ptrdiff_t i;
    for (i = 0; i < count; i++) {
        double size = fabs(x[i]);
        ordinary &= (size <= 1e5) & ((size >= 1e-8) | (size == 0.0));
    }
    return ordinary;
}

FASTOPS_WIDE void fastops_sin_block(const double *restrict x, double *restrict y, ptrdiff_t count) {
    ptrdiff_t i;
    if (!fastops_is_ordinary(x, count)) {
        for (i = 0; i < count; i++)
            y[i] = sin(x[i]);
        return;
    }
    for (i = 0; i < count; i++) {
        int64_t bits, sign;
        double result = fastops_quarter_turn(fabs(x[i]), 0);
        memcpy(&sign, &x[i], 8);
        memcpy(&bits, &result, 8);
        bits ^= sign & INT64_MIN; /* sine is odd, also at -0 */
        memcpy(&y[i], &bits, 8);
    }
}

FASTOPS_WIDE void fastops_cos_block(const double *restrict x, double *restrict y, ptrdiff_t count) {
    ptrdiff_t i;
    if (!fastops_is_ordinary(x, count)) {
        for (i = 0; i < count; i++)
            y[i] = cos(x[i]);
        return;
    }
    for (i = 0; i < count; i++)
        y[i] = fastops_quarter_turn(fabs(x[i]), 1);
}

/* NumPy's convention of an inner loop; operands with gaps, or one over the other, go through buffers. */
#define FASTOPS_LOOP(NAME)                                                                                            \
    static void fastops_##NAME##_loop(char **places, const ptrdiff_t *size, const ptrdiff_t *steps, void *data) {     \
        double in[FASTOPS_BLOCK], out[FASTOPS_BLOCK];                                                                 \
        ptrdiff_t done, count, i, left = *size;                                                                       \
        const char *source = places[0];                                                                               \
        char *target = places[1];                                                                                     \
        int direct = steps[0] == sizeof(double) && steps[1] == sizeof(double) && source != target;                    \
        (void)data;                                                                                                   \
        for (done = 0; left > 0; done += count, left -= count) {                                                      \
            count = left < FASTOPS_BLOCK ? left : FASTOPS_BLOCK;                                                      \
            if (direct) {                                                                                             \
                fastops_##NAME##_block((const double *)source + done, (double *)target + done, count);                \
                continue;                                                                                             \
            }                                                                                                         \
            for (i = 0; i < count; i++)                                                                               \
                in[i] = *(const double *)(source + (done + i) * steps[0]);                                            \
            fastops_##NAME##_block(in, out, count);                                                                   \
            for (i = 0; i < count; i++)                                                                               \
                *(double *)(target + (done + i) * steps[1]) = out[i];                                                 \
        }                                                                                                             \
    }
FASTOPS_LOOP(sin)
FASTOPS_LOOP(cos)

#endif
