"""The environment that figures depend on besides the code: results record it, and docs/PERFORMANCE.md shows
it."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

from torch_gpu import torch_on_gpu


def provenance() -> dict[str, str]:
    """The date, the commit, and the versions of torch, CUDA, cuDNN and NVIDIA's driver, as far as known."""
    run = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _output("git", "rev-parse", "--short=12", "HEAD"),
        "driver": _output("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"),
    }
    torch = torch_on_gpu()
    if torch is not None:
        run |= {
            "torch": torch.__version__,
            "CUDA": torch.version.cuda,
            "cuDNN": str(torch.backends.cudnn.version()),
        }
    return {name: value for name, value in run.items() if value}


def _output(*command: str) -> str:
    """The output of a program; nothing if it is missing or fails."""
    try:
        found = subprocess.run(
            command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""
