"""Choice of the device, without importing torch until it is used."""

from __future__ import annotations

import shutil
from pathlib import Path


def wants_gpu(device: str) -> bool:
    """Whether a job on this device takes a GPU: ``auto`` where an NVIDIA driver is present."""
    if device == "auto":
        return shutil.which("nvidia-smi") is not None or Path("/dev/nvidia0").exists()
    return device.startswith("cuda")


def resolve_device(device: str = "auto"):
    """``auto``, ``cpu``, ``cuda`` or ``cuda:N`` as a ``torch.device``.

    Raises:
        ValueError: a GPU is asked for that torch does not see, or the name is none of these.
    """
    import torch

    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        resolved = torch.device(device)
    except RuntimeError as error:
        raise ValueError(f"device is {device!r}; allowed are auto, cpu, cuda, cuda:N") from error
    if resolved.type == "cuda" and not (
        torch.cuda.is_available() and (resolved.index or 0) < torch.cuda.device_count()
    ):
        raise ValueError(
            f"device is {device!r}, but torch sees {torch.cuda.device_count()} GPUs; use"
            " device: auto or cpu"
        )
    return resolved
