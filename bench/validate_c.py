"""Nanoseconds of one C validation, and the cost of compiling a file that validates everything."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
HEADERS = HERE.parent / "generated" / "include"


def main() -> None:
    """Prints the figures for each compiler on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        program, module = Path(folder) / "validate", Path(folder) / "validate.o"
        for compiler in filter(shutil.which, ("gcc", "clang")):
            command = [compiler, "-std=c11", f"-I{HEADERS}", str(HERE / "validate.c")]
            print(compiler)
            for level in ("-O0", "-O2"):
                start = time.perf_counter()
                subprocess.run([*command, level, "-c", "-o", module], check=True)
                seconds = time.perf_counter() - start
                print(
                    f"  {level} compiled in {seconds:.2f} s, {_size(module) / 1000:.0f} KB of code and data"
                )
            subprocess.run([*command, "-O2", "-o", program], check=True)
            result = subprocess.run([program], check=True, capture_output=True, text=True)
            print(f"  valid GATHER_ELEMENTS {float(result.stdout):.1f} ns")


def _size(module: Path) -> int:
    """The bytes that an object file adds to a program."""
    lines = subprocess.run(["size", module], check=True, capture_output=True, text=True).stdout.splitlines()
    return int(lines[1].split()[3])


if __name__ == "__main__":
    main()
