"""Collects the facts of the public DirectML.h into a table: tests/data/facts/header.tsv.

    python scripts/collect_header.py DIRECTX_HEADERS/include > tests/data/facts/header.tsv

Declarations are read from the text of the header; values, sizes and offsets come from a C++ compiler that
includes it. Nothing comes from the specs, with which a test compares the table.

Columns: what a line is about (constant, enum, struct or union), its name, the name of the enumerator or
member ("" for a struct itself), the target version that declares it, value, size or offset, C type, the
member that counts the entries of an array, and whether it can be null.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_VERSION = re.compile(r"#if DML_TARGET_VERSION >= (0x[0-9a-f]+)")
_OPENING = re.compile(r"(enum|struct|union) (DML_\w+)$")
_ENUMERATOR = re.compile(r"\s+(DML_\w+)\b")
_MEMBER = re.compile(r"\s+(.*?)(\w+)(\[\d+\])?;")
_COUNT = re.compile(r"_Field_size_(?:bytes_)?(?:opt_)?\((\w+)\)")
_ANNOTATION = re.compile(r"\b_[A-Z]\w*_(?:\((?:[^()]|\([^()]*\))*\))?")


class Line(NamedTuple):
    kind: str
    owner: str
    name: str
    version: str
    number: str = ""  # value, size or offset
    type: str = ""
    count: str = ""
    nullable: str = ""


def declarations(text: str) -> Iterator[Line]:
    """The header's declarations, without numbers."""
    versions, kind, owner = ["0x1000"], "", ""
    for line in map(str.rstrip, text.splitlines()):
        if line.startswith("#if"):
            found = _VERSION.match(line)
            versions.append(found[1] if found else versions[-1])
        elif line.startswith("#endif"):
            versions.pop()
        elif opening := _OPENING.match(line):
            kind, owner = opening.groups()
            if kind != "enum":
                yield Line(kind, owner, "", versions[-1])
        elif line.startswith("};"):
            owner = ""
        elif owner and kind == "enum" and (found := _ENUMERATOR.match(line)):
            yield Line(kind, owner, found[1], versions[-1])
        elif owner and (found := _MEMBER.match(line)):
            annotated = found[1]
            count = _COUNT.search(annotated)
            type_ = " ".join(_ANNOTATION.sub("", annotated).split()) + (found[3] or "")
            nullable = "_Maybenull_" in annotated or "_opt_" in annotated
            yield Line(
                *(kind, owner, found[2], versions[-1], "", type_),
                count=count[1] if count else "",
                nullable="null" if nullable else "",
            )
        elif line.startswith("static const UINT"):
            yield Line("constant", "", line.split("=")[0].split()[-1], versions[-1])


def numbered(lines: list[Line], include: Path) -> list[Line]:
    """The lines with the numbers that a compiler gives them."""
    shown = {"constant": "{name}", "enum": "{name}"}
    expressions = [
        shown[one.kind].format(name=one.name)
        if one.kind in shown
        else f"offsetof({one.owner}, {one.name})"
        if one.name
        else f"sizeof({one.owner})"
        for one in lines
    ]
    program = "\n".join(
        [
            *("#include <wsl/winadapter.h>", "#include <directx/DirectML.h>", "#include <cstdio>"),
            "int main() {",
            *(f'std::printf("%llu\\n", (unsigned long long)({one}));' for one in expressions),
            "}",
        ]
    )
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder, "numbers.cpp"), Path(folder, "numbers")
        source.write_text(program)
        folders = [f"-isystem{include / one}" for one in ("", "wsl/stubs", "directx")]
        options = ["-std=c++17", "-DDML_TARGET_VERSION=0x6400", *folders]
        subprocess.run(["g++", *options, str(source), "-o", str(built)], check=True)
        numbers = subprocess.run([str(built)], check=True, capture_output=True, text=True).stdout.split()
    return [one._replace(number=number) for one, number in zip(lines, numbers, strict=True)]


def main() -> None:
    include = Path(sys.argv[1])
    text = (include / "directx/DirectML.h").read_text(encoding="utf-8-sig")
    for line in numbered(list(declarations(text)), include):
        print("\t".join(line).rstrip("\t"))


if __name__ == "__main__":
    main()
