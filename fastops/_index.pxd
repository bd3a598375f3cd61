"""What the views use of indexing by arrays: the points that an index chooses, and how they are read and written."""

from cpython.object cimport PyObject

from fastops._dispatch cimport Operator, Tensor
from fastops._loops cimport DIMENSIONS

cdef enum:
    FEW_POINTS = 64

ctypedef struct Points:
    # The result has the axes that are not chosen by arrays, and at `place` among them those of the arrays.
    int rank                            # of the arrays' common shape
    int rest                            # how many other axes there are
    int place
    bint masked                         # by one mask over all axes
    Py_ssize_t count                    # points
    Py_ssize_t start                    # in bytes, of whole numbers and slices
    Py_ssize_t sizes[DIMENSIONS]
    Py_ssize_t rest_sizes[DIMENSIONS]
    Py_ssize_t rest_steps[DIMENSIONS]
    Py_ssize_t *offsets                 # in bytes, of each point
    Py_ssize_t few[FEW_POINTS]

cdef bint find_points(Operator op, Tensor source, PyObject *index, Points *points) except -1
cdef void free_points(Points *points) noexcept
cdef int points_shape(Operator op, Points *points, Py_ssize_t *sizes) except -1
cdef Tensor gather(Operator op, Tensor source, Points *points)
cdef int scatter(Tensor target, Points *points, const char *values, bint single) except -1
