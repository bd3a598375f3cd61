/* Complex expm1 and tanh as the array API's tables of special cases have them: NumPy's and libm's own leave some
   infinite and undefined parts to chance. Elsewhere the formulas are the usual ones. */
#ifndef FASTOPS_COMPLEX
#define FASTOPS_COMPLEX

#include <complex.h>
#include <math.h>

typedef struct { double real, imag; } fastops_complex;

static inline fastops_complex fastops_expm1(double real, double imag)
{
    fastops_complex result;
    if (imag == 0) {                            /* on the real axis, NaN included: the imaginary part stays zero */
        result.real = real == 0 ? 0.0 : expm1(real);
        result.imag = imag;
    } else if (isinf(real) && real < 0) {       /* exp(x) is 0 with the signs of the direction, if it has one */
        result.real = -1;
        result.imag = isfinite(imag) ? copysign(0.0, sin(imag)) : 0.0;
    } else if (isinf(real) && !isfinite(imag)) {
        result.real = INFINITY;
        result.imag = NAN;
    } else if (isinf(real)) {
        result.real = INFINITY * cos(imag);
        result.imag = INFINITY * sin(imag);
    } else {
        double half = sin(imag / 2);
        result.real = expm1(real) * cos(imag) - 2 * half * half;
        result.imag = exp(real) * sin(imag);
    }
    return result;
}

static inline fastops_complex fastops_tanh(double real, double imag)
{
    fastops_complex result;
    if (isinf(real)) {
        result.real = copysign(1.0, real);
        result.imag = copysign(0.0, isnan(imag) ? 1.0 : imag);
    } else {
        double parts[2] = {real, imag};
        double complex value;
        __builtin_memcpy(&value, parts, sizeof(value));
        value = ctanh(value);
        result.real = creal(value);
        result.imag = cimag(value);
    }
    return result;
}

#define FASTOPS_COMPLEX_LOOP(name, function, type)                                                        \
    static void name(char **pointers, const Py_ssize_t *count, const Py_ssize_t *steps, void *data)        \
    {                                                                                                       \
        char *source = pointers[0], *target = pointers[1];                                                  \
        (void)data;                                                                                         \
        for (Py_ssize_t position = 0; position < *count; position++) {                                      \
            fastops_complex result = function(((type *)source)[0], ((type *)source)[1]);                    \
            ((type *)target)[0] = (type)result.real;                                                        \
            ((type *)target)[1] = (type)result.imag;                                                        \
            source += steps[0];                                                                             \
            target += steps[1];                                                                             \
        }                                                                                                   \
    }

FASTOPS_COMPLEX_LOOP(fastops_expm1_c8, fastops_expm1, float)
FASTOPS_COMPLEX_LOOP(fastops_expm1_c16, fastops_expm1, double)
FASTOPS_COMPLEX_LOOP(fastops_tanh_c8, fastops_tanh, float)
FASTOPS_COMPLEX_LOOP(fastops_tanh_c16, fastops_tanh, double)

#endif
