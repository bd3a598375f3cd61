/* A cotangent or tangent times a partial derivative: 0 where either is 0, whatever the other is. What a choice left
   out counts for nothing, though its derivative be infinite or not a number. */
#ifndef FASTOPS_SCALE_H
#define FASTOPS_SCALE_H

#define FASTOPS_SCALE_REAL(name, type)                                                                              \
    static void name(char **pointers, const Py_ssize_t *count, const Py_ssize_t *steps, void *data)                  \
    {                                                                                                                \
        Py_ssize_t position, length = *count;                                                                        \
        (void)data;                                                                                                  \
        if (steps[0] == sizeof(type) && steps[1] == sizeof(type) && steps[2] == sizeof(type)) {                      \
            const type *first = (const type *)pointers[0], *second = (const type *)pointers[1];                      \
            type *target = (type *)pointers[2];                                                                      \
            for (position = 0; position < length; position++) {                                                      \
                type product = first[position] * second[position];                                                   \
                target[position] = (first[position] == 0) | (second[position] == 0) ? 0 : product;                                               \
            }                                                                                                        \
            return;                                                                                                  \
        }                                                                                                            \
        for (position = 0; position < length; position++) {                                                          \
            type first = *(const type *)(pointers[0] + position * steps[0]);                                         \
            type second = *(const type *)(pointers[1] + position * steps[1]);                                        \
            *(type *)(pointers[2] + position * steps[2]) = first == 0 || second == 0 ? 0 : first * second;                          \
        }                                                                                                            \
    }

#define FASTOPS_SCALE_COMPLEX(name, type)                                                                           \
    static void name(char **pointers, const Py_ssize_t *count, const Py_ssize_t *steps, void *data)                  \
    {                                                                                                                \
        Py_ssize_t position;                                                                                         \
        (void)data;                                                                                                  \
        for (position = 0; position < *count; position++) {                                                          \
            const type *first = (const type *)(pointers[0] + position * steps[0]);                                   \
            const type *second = (const type *)(pointers[1] + position * steps[1]);                                  \
            type *target = (type *)(pointers[2] + position * steps[2]);                                              \
            type real = first[0] * second[0] - first[1] * second[1];                                                 \
            type imaginary = first[0] * second[1] + first[1] * second[0];                                            \
            int zero = (first[0] == 0 && first[1] == 0) || (second[0] == 0 && second[1] == 0);                                                               \
            target[0] = zero ? 0 : real;                                                                             \
            target[1] = zero ? 0 : imaginary;                                                                        \
        }                                                                                                            \
    }

FASTOPS_SCALE_REAL(fastops_scale_f4, float)
FASTOPS_SCALE_REAL(fastops_scale_f8, double)
FASTOPS_SCALE_COMPLEX(fastops_scale_c8, float)
FASTOPS_SCALE_COMPLEX(fastops_scale_c16, double)

#endif
