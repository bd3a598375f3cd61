/* DLPack's binary interface, version 1: what is in a capsule, as bytes. Field names are this house's own. */

#ifndef FASTOPS_DLPACK_H
#define FASTOPS_DLPACK_H

#include <Python.h>
#include <stdint.h>

typedef struct {
    void *data;
    int32_t device_type, device_index;
    int32_t rank;
    uint8_t code, bits;             /* of one element */
    uint16_t lanes;
    int64_t *sizes, *steps;         /* steps in elements; NULL is row-major */
    uint64_t offset;                /* bytes from data to the first element */
} fastops_dl_tensor;

/* In a capsule called "dltensor". */
typedef struct fastops_dl_plain {
    fastops_dl_tensor tensor;
    void *context;
    void (*deleter)(struct fastops_dl_plain *);
} fastops_dl_plain;

/* In a capsule called "dltensor_versioned". The first three fields stay where they are in every version. */
typedef struct fastops_dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct fastops_dl_versioned *);
    uint64_t flags;
    fastops_dl_tensor tensor;
} fastops_dl_versioned;

enum { FASTOPS_DL_READ_ONLY = 1, FASTOPS_DL_COPIED = 2 };
enum { FASTOPS_DL_CPU = 1, FASTOPS_DL_CUDA = 2, FASTOPS_DL_CUDA_HOST = 3, FASTOPS_DL_ROCM_HOST = 11, FASTOPS_DL_MANAGED = 13 };

/* A deleter is foreign code that may run Python: the exception that is on its way meanwhile must not be lost. */
static void fastops_delete_plain(fastops_dl_plain *managed) {
    PyObject *type, *value, *traceback;
    if (managed->deleter == NULL)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    managed->deleter(managed);
    if (PyErr_Occurred())
        PyErr_WriteUnraisable(NULL);
    PyErr_Restore(type, value, traceback);
}

static void fastops_delete_versioned(fastops_dl_versioned *managed) {
    PyObject *type, *value, *traceback;
    if (managed->deleter == NULL)
        return;
    PyErr_Fetch(&type, &value, &traceback);
    managed->deleter(managed);
    if (PyErr_Occurred())
        PyErr_WriteUnraisable(NULL);
    PyErr_Restore(type, value, traceback);
}

/* The end of a capsule of ours: who consumed it has renamed it and calls the deleter himself. */
static void fastops_capsule_end(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor"))
        fastops_delete_plain((fastops_dl_plain *)PyCapsule_GetPointer(capsule, "dltensor"));
    else if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        fastops_delete_versioned((fastops_dl_versioned *)PyCapsule_GetPointer(capsule, "dltensor_versioned"));
}

/* Whether Python's objects may be touched: a consumer may let go of memory in any thread and after Python's end,
   where waiting for the GIL would never return. The memory is then the process's to free. */
static int fastops_python_runs(void) {
    if (!Py_IsInitialized())
        return 0;
    if (PyGILState_Check())
        return 1;
#if PY_VERSION_HEX >= 0x030d0000
    return !Py_IsFinalizing();
#else
    return !_Py_IsFinalizing();
#endif
}

#endif
