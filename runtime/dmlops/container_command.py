"""`dmlops container FILE...`: whether compiled shaders are signed, and which options they need."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .safe_text import printable

SUMMARY = "Say whether compiled shaders (DXIL) are signed, and which options of Direct3D 12 they need"


def add(added: Callable[..., argparse.ArgumentParser]) -> None:
    """Adds the command to those of `dmlops`; `added` adds a command by name, function and summary."""
    command = added("container", run, SUMMARY)
    command.add_argument("files", metavar="FILE", nargs="+", help="a compiled shader, such as gemm.cso")
    command.add_argument("--json", action="store_true", help="print JSON, one line per file")


def run(options: argparse.Namespace) -> int:
    """Exit status: 0 if all are signed, 1 if one is not, 2 for what is no container."""
    from .gpu import is_signed, required_options

    status = 0
    for file in options.files:
        try:
            content = Path(file).read_bytes()
            is_valid, needed = is_signed(content), required_options(content)
        except ValueError as error:
            print(f"dmlops: {printable(file)}: {error}", file=sys.stderr)
            return 2
        row: dict[str, Any] = {"file": file, "signed": is_valid, "options": needed}
        print(json.dumps(row) if options.json else _line(printable(file), is_valid, needed))
        status |= not is_valid
    return status


def _line(file: str, is_valid: bool, needed: tuple[str, ...]) -> str:
    signed = "signed" if is_valid else "not signed, which only a Windows in developer mode accepts"
    return f"{file}: {signed}; needs {', '.join(needed) or 'no options'}"
