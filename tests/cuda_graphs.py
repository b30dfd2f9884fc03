"""CUDA graphs on a machine without a GPU: a capture records operators without effect, a replay runs
them on the same tensors."""

from __future__ import annotations

import contextlib

import torch
from torch.utils._python_dispatch import TorchDispatchMode

#: What waits for a GPU or copies from the processor's memory, which a capture refuses.
FORBIDDEN = {
    "aten::_local_scalar_dense": "reads a number",
    "aten::nonzero": "has a size that depends on values",
    "aten::lift_fresh": "copies from the processor",
    "aten::manual_seed": "seeds a generator",
    "aten::random": "draws numbers",
    "aten::rand": "draws numbers",
}


class Recording(TorchDispatchMode):
    """Records every operator with its tensors; at the end, what was written to is as before."""

    def __init__(self):
        super().__init__()
        self.operators, self.before, self.made = [], {}, set()

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        options = options or {}
        name = function._schema.name
        if name in FORBIDDEN:
            raise RuntimeError(f"operation not permitted when stream is capturing: {name}"
                               f" {FORBIDDEN[name]}")  # fmt: skip
        for tensor in written(function, arguments, options):
            if id(tensor) not in self.made:
                self.before.setdefault(id(tensor), (tensor, tensor.clone()))
        out = function(*arguments, **options)
        # Kept alive, so that no other tensor gets the identity of one that is gone.
        self.operators.append((function, arguments, options, out))
        self.made.update(id(part) for part in tensors(out))
        return out

    def undo(self):
        for tensor, value in self.before.values():
            tensor.copy_(value)

    def replay(self):
        for function, arguments, options, out in self.operators:
            again = function(*arguments, **options)
            for static, fresh in zip(tensors(out), tensors(again), strict=True):
                if static.layout != torch.strided:  # sparse, on indices that stay
                    static, fresh = static.values(), fresh.values()
                if static.data_ptr() != fresh.data_ptr():
                    static.copy_(fresh)


def written(function, arguments, options):
    """Tensors that an operator writes to."""
    schema = function._schema.arguments
    named = [*zip(schema, arguments, strict=False)]
    named += [(entry, options[entry.name]) for entry in schema if entry.name in options]
    for entry, value in named:
        if entry.alias_info is not None and entry.alias_info.is_write:
            yield from tensors(value)


def tensors(value):
    """Those among an operator's arguments or results."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors(part)


class Graph:
    def __init__(self):
        self.recording = None
        self.replays = 0

    @torch.no_grad()
    def replay(self):
        self.replays += 1
        self.recording.replay()


class Stream:
    def __init__(self, device=None):
        self.device = device

    def wait_stream(self, other):
        assert isinstance(other, Stream)


def emulate(monkeypatch) -> list[Graph]:
    """Put the emulation in the place of ``torch.cuda``'s; returns the graphs as they are made."""
    made = []

    @contextlib.contextmanager
    def graph(cuda_graph, stream):
        recording = Recording()
        try:
            with recording:
                yield
        finally:
            with torch.no_grad():
                recording.undo()
        cuda_graph.recording = recording
        made.append(cuda_graph)

    # PyTorch's own optimizers ask this where it is built with CUDA.
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "current_stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", contextlib.nullcontext)
    monkeypatch.setattr(torch.cuda, "CUDAGraph", Graph)
    monkeypatch.setattr(torch.cuda, "graph", graph)
    return made
