"""torch on a GPU, for comparison."""

from __future__ import annotations

import importlib
from typing import Any


def torch_on_gpu() -> Any:
    """torch with full float32 precision and tuned convolutions; None without it or without a GPU for it."""
    try:
        torch: Any = importlib.import_module("torch")
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    return torch
