"""tiny: a framework of two kernels, compiled from C, called through ctypes."""

import ctypes
from pathlib import Path

_library = ctypes.CDLL(str(Path(__file__).with_name("libtiny.so")))
_library.tiny_sum_squares.restype = ctypes.c_float
_library.tiny_sum_squares.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_library.tiny_matmul.restype = None
_library.tiny_matmul.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_size_t] * 3


def tensor(values):
    """A float32 buffer."""
    values = list(values)
    return (ctypes.c_float * len(values))(*values)


def matmul(a, b, c, m, k, n):
    """c += a @ b, all row-major float32."""
    _library.tiny_matmul(a, b, c, m, k, n)


def sum_squares(x):
    """The sum of squares of a buffer."""
    return _library.tiny_sum_squares(x, len(x))
