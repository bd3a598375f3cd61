/* Conversion loops between every two element types, from one macro.

   cast_loops[source][target](target, target_step, source, source_step, count) converts count elements; steps are in
   bytes. The order of the types is that of their codes in _loops.pyx. Rules are C's, hence NumPy's: floating point to
   whole numbers truncates, complex to real drops the imaginary part, bool is "not zero". */

#ifndef FASTOPS_CASTS_H
#define FASTOPS_CASTS_H

#include <fenv.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static double fastops_half_to_double(uint16_t half) {
    uint64_t sign = (uint64_t)(half & 0x8000) << 48, exponent = half >> 10 & 0x1f, mantissa = half & 0x3ff, bits;
    double value;
    if (exponent == 0) { /* zero and subnormal: the mantissa counts steps of 2**-24 */
        value = (double)mantissa * 5.9604644775390625e-08;
        return sign ? -value : value;
    }
    bits = sign | (exponent == 31 ? (uint64_t)0x7ff : exponent + 1008) << 52 | mantissa << 42;
    memcpy(&value, &bits, 8);
    return value;
}

/* Round to nearest, ties to even, in one step from the double, so that nothing is rounded twice. */
static uint16_t fastops_double_to_half(double value) {
    uint64_t bits, mantissa, rest;
    uint16_t sign;
    int exponent, shift;
    memcpy(&bits, &value, 8);
    sign = (uint16_t)(bits >> 48 & 0x8000);
    exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    mantissa = bits & 0xfffffffffffffULL;
    if (exponent == 1024)
        return sign | 0x7c00 | (mantissa ? 0x200 | (uint16_t)(mantissa >> 42) : 0);
    if (exponent > 15) {
        feraiseexcept(FE_OVERFLOW);
        return sign | 0x7c00;
    }
    if (exponent < -25)
        return sign;
    mantissa |= 0x10000000000000ULL;
    shift = exponent < -14 ? 28 - exponent : 42;
    rest = mantissa & ((1ULL << shift) - 1);
    mantissa >>= shift;
    if (rest > 1ULL << (shift - 1) || (rest == 1ULL << (shift - 1) && mantissa & 1))
        mantissa++;
    /* a carry moves into the exponent, which is what it should do, up to infinity */
    if (exponent >= -14)
        mantissa += (uint64_t)(exponent + 14) << 10;
    if (mantissa >= 0x7c00)
        feraiseexcept(FE_OVERFLOW);
    return sign | (uint16_t)mantissa;
}

typedef struct { float re, im; } fastops_complex64;
typedef struct { double re, im; } fastops_complex128;

/* name, C type, real part and imaginary part of an element, element from a real and an imaginary part */
#define TYPE_f8 double
#define TYPE_f4 float
#define TYPE_f2 uint16_t
#define TYPE_b1 uint8_t
#define TYPE_i1 int8_t
#define TYPE_i2 int16_t
#define TYPE_i4 int32_t
#define TYPE_i8 int64_t
#define TYPE_u1 uint8_t
#define TYPE_u2 uint16_t
#define TYPE_u4 uint32_t
#define TYPE_u8 uint64_t
#define TYPE_c8 fastops_complex64
#define TYPE_c16 fastops_complex128

#define REAL(x) (x)
#define NONE(x) 0
#define RE(x) ((x).re)
#define IM(x) ((x).im)
#define RE_f8 REAL
#define RE_f4 REAL
#define RE_f2 fastops_half_to_double
#define RE_b1 REAL
#define RE_i1 REAL
#define RE_i2 REAL
#define RE_i4 REAL
#define RE_i8 REAL
#define RE_u1 REAL
#define RE_u2 REAL
#define RE_u4 REAL
#define RE_u8 REAL
#define RE_c8 RE
#define RE_c16 RE
#define IM_f8 NONE
#define IM_f4 NONE
#define IM_f2 NONE
#define IM_b1 NONE
#define IM_i1 NONE
#define IM_i2 NONE
#define IM_i4 NONE
#define IM_i8 NONE
#define IM_u1 NONE
#define IM_u2 NONE
#define IM_u4 NONE
#define IM_u8 NONE
#define IM_c8 IM
#define IM_c16 IM

#define PUT_f8(p, re, im) (*(p) = (double)(re))
#define PUT_f4(p, re, im) (*(p) = (float)(re))
#define PUT_f2(p, re, im) (*(p) = fastops_double_to_half((double)(re)))
#define PUT_b1(p, re, im) (*(p) = (re) != 0 || (im) != 0)
#define PUT_i1(p, re, im) (*(p) = (int8_t)(re))
#define PUT_i2(p, re, im) (*(p) = (int16_t)(re))
#define PUT_i4(p, re, im) (*(p) = (int32_t)(re))
#define PUT_i8(p, re, im) (*(p) = (int64_t)(re))
#define PUT_u1(p, re, im) (*(p) = (uint8_t)(re))
#define PUT_u2(p, re, im) (*(p) = (uint16_t)(re))
#define PUT_u4(p, re, im) (*(p) = (uint32_t)(re))
#define PUT_u8(p, re, im) (*(p) = (uint64_t)(re))
#define PUT_c8(p, r, i) ((p)->re = (float)(r), (p)->im = (float)(i))
#define PUT_c16(p, r, i) ((p)->re = (double)(r), (p)->im = (double)(i))

#define CAST(S, D)                                                                                                   \
    static void cast_##S##_##D(char *target, ptrdiff_t target_step, const char *source, ptrdiff_t source_step,       \
                               ptrdiff_t count) {                                                                    \
        ptrdiff_t i;                                                                                                 \
        if (target_step == sizeof(TYPE_##D) && source_step == sizeof(TYPE_##S)) { /* what a compiler vectorises */   \
            for (i = 0; i < count; i++) {                                                                            \
                TYPE_##S value = ((const TYPE_##S *)source)[i];                                                      \
                PUT_##D(((TYPE_##D *)target) + i, RE_##S(value), IM_##S(value));                                     \
            }                                                                                                        \
            return;                                                                                                  \
        }                                                                                                            \
        for (i = 0; i < count; i++) {                                                                                \
            TYPE_##S value = *(const TYPE_##S *)(source + i * source_step);                                          \
            PUT_##D((TYPE_##D *)(target + i * target_step), RE_##S(value), IM_##S(value));                           \
        }                                                                                                            \
    }

#define EACH_TARGET(DO, S)                                                                                           \
    DO(S, f8) DO(S, f4) DO(S, f2) DO(S, b1) DO(S, i1) DO(S, i2) DO(S, i4) DO(S, i8) DO(S, u1) DO(S, u2) DO(S, u4)    \
    DO(S, u8) DO(S, c8) DO(S, c16)
#define EACH_SOURCE(DO)                                                                                              \
    DO(f8) DO(f4) DO(f2) DO(b1) DO(i1) DO(i2) DO(i4) DO(i8) DO(u1) DO(u2) DO(u4) DO(u8) DO(c8) DO(c16)

#define DEFINE(S) EACH_TARGET(CAST, S)
EACH_SOURCE(DEFINE)

typedef void (*fastops_cast)(char *, ptrdiff_t, const char *, ptrdiff_t, ptrdiff_t);

#define ENTRY(S, D) cast_##S##_##D,
#define ROW(S) {EACH_TARGET(ENTRY, S)},
static const fastops_cast cast_loops[14][14] = {EACH_SOURCE(ROW)};

#endif
