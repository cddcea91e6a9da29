"""Devices: work runs on the requested one, whatever PyTorch's default is."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def cpu_by_default() -> Iterator[None]:
    """Create new tensors on the CPU, whatever `torch.set_default_device` says."""
    if torch.empty(0).is_cpu:
        yield
        return
    with torch.device("cpu"):
        yield


def check_device(device: Any) -> torch.device:
    """Return the device if it can be used here, also in float64, which ranks need."""
    try:
        torch.ones(1, device=torch.device(device), dtype=torch.float64).item()
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        raise ValueError(
            f"device={device!r} cannot be used here ({_first_line(error)}): pass device='cpu'"
        ) from error
    return torch.device(device)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def own_device(device: torch.device) -> torch.device:
    """Return the GPU of this process, if the device is a GPU without a number."""
    if device.type != "cuda" or device.index is not None:
        return device
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)) % torch.cuda.device_count())
