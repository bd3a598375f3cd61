/* A cotangent or tangent times a partial derivative: 0 where either is 0, whatever the other is. What a choice left
   out counts for nothing, though its derivative be infinite or not a number. */
#ifndef FASTOPS_SCALE_H
#define FASTOPS_SCALE_H

#include <fenv.h>
#include <stdint.h>

/* Only a NaN can be wrong in the plain product: products are made first, in a loop that vectorises, and looked
   through only where there is one. */
#define FASTOPS_SCALE_REAL(name, type, whole)                                                                       \
    static inline whole name##_products(const type *first, int one, const type *second, int other, type *target,     \
                                        Py_ssize_t length)                                                           \
    {                                                                                                                \
        whole odd = 0;                                                                                               \
        Py_ssize_t i;                                                                                                \
        if (one && other)                                                                                            \
            for (i = 0; i < length; i++) {                                                                           \
                target[i] = first[i] * second[i];                                                                    \
                odd |= target[i] != target[i] ? 1 : 0;                                                               \
            }                                                                                                        \
        else if (one)                                                                                                \
            for (i = 0; i < length; i++) {                                                                           \
                target[i] = first[i] * second[0];                                                                    \
                odd |= target[i] != target[i] ? 1 : 0;                                                               \
            }                                                                                                        \
        else                                                                                                         \
            for (i = 0; i < length; i++) {                                                                           \
                target[i] = first[0] * second[i];                                                                    \
                odd |= target[i] != target[i] ? 1 : 0;                                                               \
            }                                                                                                        \
        return odd;                                                                                                  \
    }                                                                                                                \
                                                                                                                     \
    static void name(char **pointers, const Py_ssize_t *count, const Py_ssize_t *steps, void *data)                  \
    {                                                                                                                \
        Py_ssize_t i, length = *count;                                                                               \
        int one = steps[0] == sizeof(type), other = steps[1] == sizeof(type);                                        \
        (void)data;                                                                                                  \
        if ((one || (other && steps[0] == 0)) && (other || (one && steps[1] == 0)) && steps[2] == sizeof(type)       \
            && pointers[2] != pointers[0] && pointers[2] != pointers[1]) {                                           \
            const type *restrict first = (const type *)pointers[0], *restrict second = (const type *)pointers[1];    \
            type *restrict target = (type *)pointers[2];                                                             \
            if (name##_products(first, one, second, other, target, length)) {                                        \
                feclearexcept(FE_INVALID); /* only a zero times an infinity raises it, and that is nothing here */    \
                for (i = 0; i < length; i++)                                                                         \
                    if (first[one ? i : 0] == 0 || second[other ? i : 0] == 0)                                       \
                        target[i] = 0;                                                                               \
            }                                                                                                        \
            return;                                                                                                  \
        }                                                                                                            \
        for (i = 0; i < length; i++) {                                                                               \
            type first = *(const type *)(pointers[0] + i * steps[0]);                                                \
            type second = *(const type *)(pointers[1] + i * steps[1]);                                               \
            *(type *)(pointers[2] + i * steps[2]) = first == 0 || second == 0 ? 0 : first * second;                  \
        }                                                                                                            \
    }

#define FASTOPS_SCALE_COMPLEX(name, type)                                                                           \
    static void name(char **pointers, const Py_ssize_t *count, const Py_ssize_t *steps, void *data)                  \
    {                                                                                                                \
        Py_ssize_t i;                                                                                                \
        (void)data;                                                                                                  \
        for (i = 0; i < *count; i++) {                                                                               \
            const type *first = (const type *)(pointers[0] + i * steps[0]);                                          \
            const type *second = (const type *)(pointers[1] + i * steps[1]);                                         \
            type *target = (type *)(pointers[2] + i * steps[2]);                                                     \
            type real = 0, imaginary = 0;                                                                            \
            if ((first[0] != 0 || first[1] != 0) && (second[0] != 0 || second[1] != 0)) {                            \
                real = first[0] * second[0] - first[1] * second[1];                                                  \
                imaginary = first[0] * second[1] + first[1] * second[0];                                             \
            }                                                                                                        \
            target[0] = real;                                                                                        \
            target[1] = imaginary;                                                                                   \
        }                                                                                                            \
    }

FASTOPS_SCALE_REAL(fastops_scale_f4, float, int32_t)
FASTOPS_SCALE_REAL(fastops_scale_f8, double, int64_t)
FASTOPS_SCALE_COMPLEX(fastops_scale_c8, float)
FASTOPS_SCALE_COMPLEX(fastops_scale_c16, double)

#endif
