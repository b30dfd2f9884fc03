"""A GPU on a machine without one: its tensors lie in the processor's memory, marked by their
storage, and whatever would mix devices there is refused.

An operator on tensors of both devices, or an array of numbers made of one on the GPU, raises as
PyTorch does. So what runs here puts each tensor where it belongs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.cuda_graphs import Graph, emulate, tensors

GPU = torch.device("cuda", 0)

#: What copies from one device to another.
_COPIES = ("aten::copy_", "aten::_to_copy")
_READS = (torch.Tensor.numpy, torch.Tensor.__array__)
_DEVICE, _IS_CUDA = torch.Tensor.device.__get__, torch.Tensor.is_cuda.__get__


def _is_gpu(device) -> bool:
    return device is not None and torch.device(device).type == "cuda"


class Memory:
    """Of the emulated GPU: the storages that lie there, kept so that none's place is used again."""

    def __init__(self):
        self.storages = {}

    def add(self, tensor: torch.Tensor) -> torch.Tensor:
        for storage in _storages(tensor):
            self.storages[storage._cdata] = storage
        return tensor

    def has(self, tensor: torch.Tensor) -> bool:
        return all(storage._cdata in self.storages for storage in _storages(tensor))


def _storages(tensor: torch.Tensor) -> list:
    with torch._C.DisableTorchFunction():
        if tensor.layout == torch.strided:
            return [tensor.untyped_storage()]
        if tensor.layout == torch.sparse_csr:
            parts = (tensor.crow_indices(), tensor.col_indices(), tensor.values())
        else:
            parts = (tensor.ccol_indices(), tensor.row_indices(), tensor.values())
        return [part.untyped_storage() for part in parts]


class _Operators(TorchDispatchMode):
    """What is computed on the GPU lies there."""

    def __init__(self, memory: Memory):
        super().__init__()
        self.memory = memory

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        with torch._C.DisableTorchFunction():
            return self._call(function, arguments, options or {})

    def _call(self, function, arguments, options):
        name = function._schema.name
        there, here = [], []
        for tensor in tensors([*arguments, *options.values()]):
            (there if self.memory.has(tensor) else here).append(tensor)
        here = [tensor for tensor in here if tensor.dim()]  # without dimensions it is a number
        if there and here and name not in _COPIES:
            raise RuntimeError(f"Expected all tensors to be on the same device: {name}")
        out = function(*arguments, **options)
        if there and name != "aten::copy_":
            for part in tensors(out):
                self.memory.add(part)
        return out


class _Functions(TorchFunctionMode):
    """What is asked for on the GPU, or moved there, is marked; what is moved away is a copy."""

    def __init__(self, memory: Memory):
        super().__init__()
        self.memory = memory

    def __torch_function__(self, function, types, arguments=(), options=None):
        options = options or {}
        if function == _DEVICE:
            return GPU if self.memory.has(arguments[0]) else function(*arguments)
        if function == _IS_CUDA:
            return self.memory.has(arguments[0])
        if function in _READS and self.memory.has(arguments[0]):
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()")
        if function is torch.Tensor.cpu:
            return self._move(arguments[0], "cpu")
        if function is torch.Tensor.cuda:
            return self._move(arguments[0], GPU)
        if function is torch.Tensor.to:
            return self._move(*arguments, **options)
        if _is_gpu(options.get("device")):
            return self.memory.add(function(*arguments, **options | {"device": "cpu"}))
        return function(*arguments, **options)

    def _move(self, tensor, *rest, device=None, dtype=None, copy=False, non_blocking=False):
        for value in rest:
            if isinstance(value, torch.Tensor):
                device, dtype = value.device, value.dtype
            elif isinstance(value, (str, torch.device)):
                device = value
            elif isinstance(value, torch.dtype):
                dtype = value
        was = self.memory.has(tensor)
        goes = was if device is None else _is_gpu(device)
        with torch._C.DisableTorchFunctionSubclass():
            moved = torch.Tensor.to(tensor, dtype or tensor.dtype, copy=copy or goes != was)
        if goes:
            return self.memory.add(moved)
        for storage in _storages(moved):
            self.memory.storages.pop(storage._cdata, None)
        return moved


class _Generator(torch.Generator):
    def __new__(cls, device="cpu"):
        return super().__new__(cls, "cpu")


@contextlib.contextmanager
def emulated_gpu(monkeypatch) -> Iterator[list[Graph]]:
    """One GPU, that torch sees; its generators are a processor's. Yields the list of CUDA graphs,
    as they are made."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "an emulated GPU")
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda number: SimpleNamespace(uuid="GPU-0")
    )
    monkeypatch.setattr(torch, "Generator", _Generator)
    memory, graphs = Memory(), emulate(monkeypatch)
    with _Functions(memory), _Operators(memory):
        yield graphs
