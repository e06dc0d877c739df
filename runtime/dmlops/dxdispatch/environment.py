"""The environment of results: `run.json`, as the Windows script writes it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..dxdispatch_versions import RESULTS
from .index import LARGEST_INDEX, Unreadable, read_bytes, read_json

_LONGEST = 1 << 20
_LOADED = re.compile(r"- Loaded Version\s*: *(.+)")


@dataclass(frozen=True)
class Environment:
    """Windows, the requested adapter, and what DxDispatch prints about adapters and dependencies."""

    windows: str
    adapter: str
    adapters: tuple[str, ...]
    dependencies: tuple[str, ...]

    def facts(self) -> Iterator[tuple[str, str]]:
        """The facts at the top of a report."""
        yield "Windows", self.windows
        name, driver = self._adapter()
        yield "adapter", name
        yield "driver", driver
        for part in ("DirectML", "D3D12", "DXCompiler"):
            yield part, self._version(part)

    def _adapter(self) -> tuple[str, str]:
        """The first adapter with the requested name, which is the one that DxDispatch uses."""
        for place, line in enumerate(self.adapters):
            if not line.startswith("-") and self.adapter in line:
                details = self.adapters[place + 1 : place + 2]
                driver = details[0] if details else ""
                return line, driver.removeprefix("-Version:").strip()
        return self.adapter, "unknown"

    def _version(self, part: str) -> str:
        """The version of a library that DxDispatch has loaded: the text between its heading and the next."""
        lines = iter(self.dependencies)
        for line in lines:
            if line == f"{part}:":
                for detail in lines:
                    if not detail.startswith("-"):
                        break
                    match = _LOADED.fullmatch(detail.rstrip("\0 "))
                    if match:
                        return match[1]
        return "unknown"


def read_environment(results: Path, cases: Path) -> Environment:
    """The record of a results folder, which must belong to these cases. Raises Unreadable."""
    if not (results / "run.json").is_file():
        raise Unreadable("there are no results: run.json, which Run-Cases.ps1 writes first, is missing")
    match read_json(results / "run.json", _LONGEST):
        case {
            "version": version,
            "cases": str() as digest,
            "windows": str() as windows,
            "adapter": str() as adapter,
            "adapters": list() as adapters,
            "dependencies": list() as dependencies,
        } if all(isinstance(line, str) for line in (*adapters, *dependencies)):
            pass
        case _:
            raise Unreadable("run.json is not what Run-Cases.ps1 writes")
    if version != RESULTS:
        raise Unreadable(f"run.json is not of version {RESULTS}")
    if digest.lower() != hashlib.sha256(read_bytes(cases, LARGEST_INDEX)).hexdigest():
        raise Unreadable("the results are of other cases; name their folder with --cases")
    return Environment(windows, adapter, tuple(adapters), tuple(dependencies))
