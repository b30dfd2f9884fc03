"""Pickles as Python 2 and the SciPy of its time wrote them, for Planetoid's format."""

from __future__ import annotations

import io
import pickle
import struct
from typing import Any, ClassVar

import numpy as np
from scipy import sparse


class _SparseMatrix:
    """Pickled under the name that SciPy's csr_matrix had."""

    def __init__(self, matrix):
        csr = sparse.csr_array(matrix)
        self.format, self._shape, self.maxprint = "csr", csr.shape, 50
        self.indptr, self.indices, self.data = csr.indptr, csr.indices, csr.data


_RECONSTRUCT = np.empty(0).__reduce__()[0]


class _Python2Pickler(pickle._Pickler):
    """Writes byte strings and the module names of Python 2's time, protocol 2."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def __init__(self, file):
        super().__init__(file, protocol=2)

    def save_string(self, text):
        content = text.encode("latin1") if isinstance(text, str) else text
        if len(content) < 256:
            self.write(pickle.SHORT_BINSTRING + bytes([len(content)]) + content)
        else:
            self.write(pickle.BINSTRING + struct.pack("<i", len(content)) + content)
        self.memoize(text)

    dispatch[bytes] = dispatch[str] = save_string

    def save_global(self, obj, name=None):
        if obj is _RECONSTRUCT:
            self._named(obj, "numpy.core.multiarray", "_reconstruct")
        elif obj is _SparseMatrix:
            self._named(obj, "scipy.sparse.csr", "csr_matrix")
        else:
            super().save_global(obj, name)

    def _named(self, obj, module, name):
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    def save_type(self, obj):
        self.save_global(obj)

    dispatch[type] = save_type


def python2_pickle(obj: Any, as_sparse: bool = False) -> bytes:
    """An object's pickle by Python 2; ``as_sparse`` makes a csr_matrix of it."""
    buffer = io.BytesIO()
    _Python2Pickler(buffer).dump(_SparseMatrix(obj) if as_sparse else obj)
    return buffer.getvalue()
