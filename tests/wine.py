"""Runs programs for Windows with Wine, without a display."""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest

PREFIX = Path(__file__).parents[1] / "build/wine"  # takes seconds to make, so it is kept


@dataclass(frozen=True)
class Wine:
    program: str
    environment: dict[str, str]

    def started(
        self, path: Path, *arguments: str, cwd: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program, which must succeed."""
        result = subprocess.run(
            [self.program, str(path), *arguments],
            env=self.environment | environment,
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert result.returncode == 0, result.stdout + result.stderr
        return result


@pytest.fixture(scope="session")
def wine() -> Wine:
    """Wine with its own prefix. Left out, with a warning, only where Debian's packages are not there."""
    found = next(
        (path for path in ("/usr/lib/wine/wine64", shutil.which("wine")) if path and Path(path).exists()),
        None,
    )
    if found is None:
        assert "CI" not in os.environ, "Wine is missing: scripts/install-debian-packages installs it"
        left_out = "Wine is not installed: no program for Windows is run"
        warnings.warn(left_out, stacklevel=1)
        pytest.skip(left_out)
    environment = {
        "HOME": str(PREFIX),
        "PATH": os.environ["PATH"],
        "WINEPREFIX": str(PREFIX / "prefix"),
        "WINEDEBUG": "-all",
        "WINEDLLOVERRIDES": "mscoree,mshtml,winemenubuilder.exe=",
    }
    PREFIX.mkdir(parents=True, exist_ok=True)
    return Wine(found, environment)
