"""Nanoseconds of one C validation, and what a file that validates everything costs to compile."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
HEADERS = HERE.parent / "generated" / "include"


def main() -> None:
    """Print the figures of each compiler that is here."""
    with tempfile.TemporaryDirectory() as folder:
        program, module = Path(folder) / "validate", Path(folder) / "validate.o"
        for compiler in filter(shutil.which, ("gcc", "clang")):
            command = [compiler, "-std=c11", "-O2", f"-I{HEADERS}", str(HERE / "validate.c")]
            start = time.perf_counter()
            subprocess.run([*command, "-c", "-o", module], check=True)
            seconds = time.perf_counter() - start
            subprocess.run([*command, "-o", program], check=True)
            result = subprocess.run([program], check=True, capture_output=True, text=True)
            size = module.stat().st_size / 1000
            print(f"{compiler:8} valid GATHER_ELEMENTS {float(result.stdout):6.1f} ns")
            print(f"{'':8} compiled in {seconds:.2f} s, object file {size:.0f} KB")


if __name__ == "__main__":
    main()
