"""Fuzzes the C validator: tests/c/fuzz.c with libFuzzer, starting from the cases of the matrices.

    python tests/c_fuzz.py [SECONDS]

Inputs that reached new code stay in build/fuzz/corpus; one that failed is in build/fuzz.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from c_runner import OWN_ALLOCATOR, SANITIZERS, build
from dmlops import FeatureLevel, OperatorType, TensorType, abi, from_json
from dmlops.enums import feature_level
from dmlops.member import Member
from dmlops.registry import NUMBERS, OPERATORS, STRUCTS, operator
from random_descriptions import level_and_form, matrix_cases

LIBFUZZER = "-fsanitize=fuzzer"
REPLAY = "-DWITHOUT_LIBFUZZER"

ROOT = Path(__file__).parents[1]
HEADER = ROOT / "generated/include/dmlops.h"
LENGTH = 4096  # bytes of the longest input
READABLE = 8  # entries of an array that is not of tensors, at most


@dataclass(frozen=True)
class Address:
    """A member that is an address: of one thing, or of as many as the member at `count` says.

    Where `type` is not None, it points to that only in a struct with this Type.
    """

    offset: int
    shape: str
    count: int | None = None
    type: int | None = None


@dataclass(frozen=True)
class Shape:
    """A struct or number: its bytes, and the addresses in it."""

    size: int
    addresses: tuple[Address, ...] = ()


@cache
def shapes() -> dict[str, Shape]:
    """Everything that an address can point to, by name."""
    found = {name: Shape(bits // 8) for name, (bits, _) in NUMBERS.items()}
    for name, members in STRUCTS.items():
        found[name.removeprefix("DML_")] = _shape(abi.struct(name, members), members)
    for name in OPERATORS:
        described = operator(name)
        found[name] = _shape(abi.desc_struct(described), described.MEMBERS)
    return found


def _shape(struct: type[ctypes.Structure], members: tuple[Member, ...]) -> Shape:
    addresses: list[Address] = []
    for member in members:
        offset = getattr(struct, member.name).offset
        if member.type == "void":  # Desc, beside Type
            types = {name: OperatorType[name].value for name in OPERATORS}
            if "TENSOR" in struct.__name__:
                types = {"BUFFER_TENSOR_DESC": TensorType.BUFFER.value}
            addresses += [Address(offset, name, type=type_) for name, type_ in types.items()]
        elif member.pointer:
            count = getattr(struct, member.count).offset if member.count else None
            addresses.append(Address(offset, {"tensor": "TENSOR_DESC"}.get(member.type, member.type), count))
    return Shape(ctypes.sizeof(struct), tuple(addresses))


def shapes_header() -> str:
    """shapes.h: the shapes as tables of C."""
    names = list(shapes())
    addresses: list[str] = []
    lines: list[str] = []
    for name, shape in shapes().items():
        first = len(addresses)
        for one in shape.addresses:
            count = "ALONE" if one.count is None else one.count
            type_ = "ANY_TYPE" if one.type is None else one.type
            addresses.append(f"    {{{one.offset}, {count}, {type_}, {names.index(one.shape)}}},")
        lines.append(f"    {{{shape.size}, {first}, {len(addresses)}}}, /* {name} */")
    return "\n".join(
        [
            "#define ALONE 0xffff",
            "#define ANY_TYPE 0xffff",
            f"#define OPERATOR_DESC {names.index('OPERATOR_DESC')}",
            f"#define TENSOR_DESC {names.index('TENSOR_DESC')}",
            "typedef struct address { uint16_t offset, count, type, shape; } address;",
            "typedef struct shape { uint16_t size, first, end; } shape;",
            "static const address addresses[] = {",
            *addresses,
            "};",
            "static const shape shapes[] = {",
            *lines,
            "};\n",
        ]
    )


def bytes_of(desc: ctypes.Structure, level: FeatureLevel) -> bytes:
    """The input of which the harness makes this description."""
    return level.value.to_bytes(2, "little") + _image(ctypes.addressof(desc), "OPERATOR_DESC", 1)


def _image(place: int, name: str, count: int) -> bytes:
    shape = shapes()[name]
    image = bytearray(ctypes.string_at(place, shape.size * count))
    targets = b""
    for start in range(0, len(image), shape.size):
        for one in shape.addresses:
            if one.type not in (None, _number(image, start, 4)):
                continue
            target = _number(image, start + one.offset, 8)
            entries = 1 if one.count is None else _number(image, start + one.count, 4)
            entries = entries if one.shape == "TENSOR_DESC" else min(entries, READABLE)
            if target:
                image[start + one.offset : start + one.offset + 8] = (1).to_bytes(8, "little")
                targets += _image(target, one.shape, entries)
    return bytes(image) + targets


def _number(image: bytearray, offset: int, size: int) -> int:
    return int.from_bytes(image[offset : offset + size], "little")


def seeds() -> Iterator[bytes]:
    """The cases of the matrices that C structs can hold."""
    for case in matrix_cases():
        if case.get("form") == "json":
            continue
        level, form = level_and_form(case)
        with suppress(ValueError):  # a union of a data type that is none
            yield bytes_of(from_json(form).to_ctypes(), feature_level(level))


def write_corpus(folder: Path) -> None:
    """Puts the seeds into a folder, one a file."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(dict.fromkeys(seeds())):
        (folder / f"seed-{number:05}").write_bytes(seed)


def build_fuzzer(folder: Path, compiler: str, *options: str, header: Path = HEADER) -> Path:
    """The program, in the folder; the options say whether libFuzzer is linked or files are replayed."""
    (folder / "shapes.h").write_text(shapes_header())
    return build(header, "fuzz.c", folder / compiler, compiler, *SANITIZERS, *options, f"-I{folder}")


def fuzz(program: Path, corpus: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs libFuzzer; its log is the error output."""
    folder = program.parent
    command = [str(program), f"-max_len={LENGTH}", f"-artifact_prefix={folder}/", *options, str(corpus)]
    return subprocess.run(command, env=OWN_ALLOCATOR, stderr=subprocess.PIPE, text=True, check=False)


def main(seconds: str) -> int:
    """Fuzzes; 1 when something was found."""
    folder = ROOT / "build/fuzz"
    write_corpus(folder / "corpus")
    program = build_fuzzer(folder, "clang", "-O1", LIBFUZZER)
    result = fuzz(program, folder / "corpus", f"-max_total_time={seconds}", "-print_final_stats=1")
    print(result.stderr[-4000:])
    return 1 if result.returncode else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else "600"))
