"""torch on a GPU, which the shaders are compared with."""

from __future__ import annotations

import importlib
from typing import Any


def torch_on_gpu() -> Any:
    """torch, with float32 as it is and the fastest convolutions; None without it or without its GPU."""
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    return torch
