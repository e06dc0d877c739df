"""The cost of compiling a file in C that validates everything."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
HEADERS = HERE.parent / "generated" / "include"
SOURCE = """#include "dmlops.h"
size_t violations(const DML_OPERATOR_DESC* desc) {
    return dmlops_validate(desc, DML_FEATURE_LEVEL_6_4, NULL, 0);
}
"""


def main() -> None:
    """Prints the figures for each compiler on this machine."""
    with tempfile.TemporaryDirectory() as folder:
        file, module = Path(folder) / "validate.c", Path(folder) / "validate.o"
        file.write_text(SOURCE, encoding="utf-8")
        for compiler in filter(shutil.which, ("gcc", "clang")):
            for level in ("-O0", "-O2"):
                start = time.perf_counter()
                subprocess.run(
                    [compiler, "-std=c11", f"-I{HEADERS}", level, "-c", file, "-o", module], check=True
                )
                seconds, size = time.perf_counter() - start, _size(module) / 1000
                print(f"{compiler} {level}: compiled in {seconds:.2f} s, {size:.0f} KB of code and data")


def _size(module: Path) -> int:
    """The bytes that an object file adds to a program."""
    lines = subprocess.run(["size", module], check=True, capture_output=True, text=True).stdout.splitlines()
    return int(lines[1].split()[3])


if __name__ == "__main__":
    main()
