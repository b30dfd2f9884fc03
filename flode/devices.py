"""Devices: which one, how exact its products are, and what to do when its memory is too small.

Light on purpose: the Snakefile reads it, so torch is imported where it is used.
"""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

#: What PyTorch, its allocators and CUDA's libraries say when memory is out. The first has a class
#: of its own; on a processor all are plain RuntimeErrors.
_OUT_OF_MEMORY = (
    "out of memory",
    "not enough memory",
    "can't allocate memory",
    "cannot allocate memory",
    "alloc_failed",
)

#: Locks held until this process ends.
_claims = []


def wants_gpu(device: str) -> bool:
    """Whether a job on this device takes a GPU: ``auto`` where an NVIDIA driver is present and
    torch is not built for processors alone."""
    if device == "auto":
        driver = shutil.which("nvidia-smi") is not None or Path("/dev/nvidia0").exists()
        return driver and not version("torch").endswith("+cpu")
    return device.startswith("cuda")


@functools.cache
def resolve_device(device: str = "auto"):
    """``auto``, ``cpu``, ``cuda`` or ``cuda:N`` as a ``torch.device``.

    ``auto`` is a GPU where torch sees one. Without a number, the processes of one user take the
    GPUs of a machine in turn, and keep theirs.

    Raises:
        ValueError: a GPU is asked for that torch does not see, or the name is none of these.
    """
    import torch

    allowed = "allowed are auto, cpu, cuda, cuda:N"
    if device == "auto" and not torch.cuda.is_available():
        return torch.device("cpu")
    try:
        resolved = torch.device("cuda" if device == "auto" else device)
    except RuntimeError as error:
        raise ValueError(f"device is {device!r}; {allowed}") from error
    if resolved.type not in ("cpu", "cuda"):
        raise ValueError(f"device is {device!r}; {allowed}")
    if resolved.type == "cpu":
        return resolved
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if count <= (resolved.index or 0):
        built = "" if torch.version.cuda else f" (torch {torch.__version__} is built without CUDA)"
        seen = f"cuda:0 to cuda:{count - 1}" if count else f"no GPU{built}"
        raise ValueError(
            f"device is {device!r}, but torch sees {seen}; set device: auto or cpu"
            + (", or one of those" if count else "")
        )
    return resolved if resolved.index is not None else torch.device("cuda", _claim(count))


def _claim(count: int) -> int:
    """The GPU, by its number, that the fewest of this user's processes have claimed."""
    import torch

    try:
        import fcntl
    except ImportError:  # Windows
        return torch.cuda.current_device()
    folder = Path(tempfile.gettempdir()) / f"flode-gpus-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    # Numbers are relative to CUDA_VISIBLE_DEVICES; identities are not.
    identities = [torch.cuda.get_device_properties(number).uuid for number in range(count)]
    places = ((place, number) for place in itertools.count() for number in range(count))
    while True:
        place, number = next(places)
        lock = (folder / f"{identities[number]}-{place}").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            continue
        _claims.append(lock)
        return number


def set_tf32(allowed: bool) -> None:
    """Allow TensorFloat-32 in float32 matrix products on a GPU, or not; a CPU's stay as they are.

    PyTorch 2.9 renamed the setting, and refuses to read it by the one name when it was set by the
    other.
    """
    import torch

    products = torch.backends.cuda.matmul
    if hasattr(products, "fp32_precision"):
        products.fp32_precision = "tf32" if allowed else "ieee"
    else:
        products.allow_tf32 = allowed


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error is for want of memory: PyTorch's, CUDA's and NumPy's have many forms."""
    if isinstance(error, MemoryError):
        return True
    text = str(error).lower()
    return isinstance(error, RuntimeError) and any(words in text for words in _OUT_OF_MEMORY)


@contextmanager
def memory_advice(what: str, advice: str) -> Iterator[None]:
    """Turn an error for want of memory into one that says what to do.

    Args:
        what: is at work.
        advice: which settings to change, with their values now.

    Raises:
        MemoryError: in place of PyTorch's, CUDA's and NumPy's errors for want of memory.
        BaseException: any other error, as it came.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        text = str(error).strip() or type(error).__name__
        if not is_out_of_memory(error):
            raise
        raise MemoryError(f"{what}: out of memory. {advice} ({text.splitlines()[0]})") from error
