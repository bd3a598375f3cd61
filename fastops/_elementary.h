/* Logarithm, sine and cosine of random words, from +, -, *, / and the square root alone.

   Those five are exact to the last bit by IEEE 754, wherever they run; the C library's functions are not. So the same
   word gives the same normal number on every processor, provided that no compiler fuses a product and a sum
   (-ffp-contract=off, -fmad=false) or takes liberties (-ffast-math). There are no branches: compilers turn the loops
   around these functions into vector instructions. The polynomials are Taylor's, on ranges where they need few terms;
   the results are within 2 units in the last place. */

#ifndef FASTOPS_ELEMENTARY_H
#define FASTOPS_ELEMENTARY_H

#include "_philox.h"

#include <math.h>
#include <string.h>

/* A word as a number; by way of a signed one, for which every processor has an instruction. */
static inline double fastops_real(uint32_t word) {
    return (double)(int32_t)(word ^ 0x80000000u) + 2147483648.0;
}

/* -log(u) for u = (word + 1/2) / 2**64, between 2**-65 and 45.1; never 0. Near 1 the distance of u to 1 is used, which is
   there without rounding: the small results are as precise as the large ones.
   u = 2**exponent * m with m between sqrt(1/2) and sqrt(2), s = (m - 1) / (m + 1), log(m) = 2 (s + s**3/3 + s**5/5 ...) */
static inline double fastops_minus_log64(uint32_t low, uint32_t high) {
    const uint64_t root_half = 0x3FE6A09E667F3BCDu, one = 0x3FF0000000000000u;
    double u = (fastops_real(high) * 4294967296.0 + (fastops_real(low) + 0.5)) * 0x1p-64;
    double distance = (fastops_real(~high) * 4294967296.0 + (fastops_real(~low) + 0.5)) * 0x1p-64;
    double m, above, below, s, z, tail, exponent;
    uint64_t bits;
    int32_t power;
    memcpy(&bits, &u, 8);
    bits += one - root_half;
    power = (int32_t)(uint32_t)(bits >> 52) - 1023;
    bits = (bits & 0x000FFFFFFFFFFFFFu) + root_half;
    memcpy(&m, &bits, 8);
    exponent = (double)power;
    above = power == 0 ? -distance : m - 1.0;
    below = power == 0 ? 2.0 - distance : m + 1.0;
    s = above / below;
    z = s * s;
    tail = 1.0 / 19;
    tail = tail * z + 1.0 / 17;
    tail = tail * z + 1.0 / 15;
    tail = tail * z + 1.0 / 13;
    tail = tail * z + 1.0 / 11;
    tail = tail * z + 1.0 / 9;
    tail = tail * z + 1.0 / 7;
    tail = tail * z + 1.0 / 5;
    tail = tail * z + 1.0 / 3;
    tail = 2.0 * s * z * tail + exponent * 1.90821492927058770002e-10; /* the lower part of log(2) */
    return -(exponent * 0.693147180369123816490 + (2.0 * s + tail));
}

/* A point on the unit circle: the two uppermost bits are the quarter, the rest the angle within it, from -pi/4 to pi/4. */
static inline void fastops_direction64(uint32_t low, uint32_t high, double *across, double *up) {
    uint32_t quarter = high >> 30, upper = high << 2 | low >> 30, lower = low << 2;
    double turn = (double)(int32_t)(upper ^ 0x80000000u) * 0x1p-32 + fastops_real(lower) * 0x1p-64;
    double angle = turn * 1.57079632679489661923, z = angle * angle, sine, cosine, x, y;
    sine = 1.0 / 355687428096000.0;
    sine = sine * z - 1.0 / 1307674368000.0;
    sine = sine * z + 1.0 / 6227020800.0;
    sine = sine * z - 1.0 / 39916800.0;
    sine = sine * z + 1.0 / 362880.0;
    sine = sine * z - 1.0 / 5040.0;
    sine = sine * z + 1.0 / 120.0;
    sine = sine * z - 1.0 / 6.0;
    sine = sine * z * angle + angle;
    cosine = 1.0 / 20922789888000.0;
    cosine = cosine * z - 1.0 / 87178291200.0;
    cosine = cosine * z + 1.0 / 479001600.0;
    cosine = cosine * z - 1.0 / 3628800.0;
    cosine = cosine * z + 1.0 / 40320.0;
    cosine = cosine * z - 1.0 / 720.0;
    cosine = cosine * z + 1.0 / 24.0;
    cosine = cosine * z - 1.0 / 2.0;
    cosine = cosine * z + 1.0;
    x = quarter & 1 ? sine : cosine;
    y = quarter & 1 ? cosine : sine;
    *across = (quarter + 1) & 2 ? -x : x;
    *up = quarter & 2 ? -y : y;
}

/* Two independent normal numbers (Box and Muller): a radius and a direction. At most 9.5. */
static inline void fastops_normal_pair64(const uint32_t words[4], double *first, double *second) {
    double radius = sqrt(2.0 * fastops_minus_log64(words[0], words[1])), across, up;
    fastops_direction64(words[2], words[3], &across, &up);
    *first = radius * across;
    *second = radius * up;
}

/* Pairs of words to pairs of normal numbers, and words to exponential ones: loops that become vector instructions. */
FASTOPS_WIDE static void fastops_normals(const uint64_t *words, double *target, int64_t pairs) {
    for (int64_t pair = 0; pair < pairs; pair++) {
        uint64_t a = words[2 * pair], b = words[2 * pair + 1];
        uint32_t block[4] = {(uint32_t)a, (uint32_t)(a >> 32), (uint32_t)b, (uint32_t)(b >> 32)};
        fastops_normal_pair64(block, &target[2 * pair], &target[2 * pair + 1]);
    }
}

FASTOPS_WIDE static void fastops_exponentials(const uint64_t *words, double *target, int64_t count) {
    for (int64_t place = 0; place < count; place++)
        target[place] = fastops_minus_log64((uint32_t)words[place], (uint32_t)(words[place] >> 32));
}

#endif
