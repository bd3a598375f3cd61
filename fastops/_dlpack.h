/* The structures of DLPack 1.x, which array libraries hand each other in capsules; their layout is the protocol's
   (dmlc.github.io/dlpack). */
#ifndef FASTOPS_DLPACK
#define FASTOPS_DLPACK

#include <stdint.h>

enum { FASTOPS_DL_CPU = 1, FASTOPS_DL_CUDA_HOST = 3 };
enum { FASTOPS_DL_INT = 0, FASTOPS_DL_UINT = 1, FASTOPS_DL_FLOAT = 2, FASTOPS_DL_COMPLEX = 5, FASTOPS_DL_BOOL = 6 };
enum { FASTOPS_DL_READ_ONLY = 1, FASTOPS_DL_IS_COPIED = 2 };

typedef struct { int32_t device_type, device_id; } fastops_dl_device;
typedef struct { uint8_t code, bits; uint16_t lanes; } fastops_dl_type;

typedef struct {
    void *data;
    fastops_dl_device device;
    int32_t ndim;
    fastops_dl_type dtype;
    int64_t *shape;
    int64_t *strides;           /* in elements; NULL where the elements lie in row-major order */
    uint64_t byte_offset;
} fastops_dl_tensor;

typedef struct fastops_dl_managed {
    fastops_dl_tensor tensor;
    void *context;
    void (*deleter)(struct fastops_dl_managed *);
} fastops_dl_managed;

typedef struct { uint32_t major, minor; } fastops_dl_version;

typedef struct fastops_dl_versioned {
    fastops_dl_version version;
    void *context;
    void (*deleter)(struct fastops_dl_versioned *);
    uint64_t flags;
    fastops_dl_tensor tensor;
} fastops_dl_versioned;

#endif
