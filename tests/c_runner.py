"""Builds tests/c/runner.c, sends descriptions to the C validator in it, and reads its answers."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import struct
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dmlops
from dmlgen.outputs import c
from dmlgen.outputs.c_layout import layout
from dmlgen.outputs.render import Templates
from dmlgen.registry import Member as RegistryMember
from dmlgen.registry import Operator, Registry, Struct

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "tests/c"
BUILT = ROOT / "build/programs"
TEMPLATES = Templates(ROOT / "templates")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wconversion", "-Wshadow")
SANITIZERS = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
# The environment of programs with sanitizers, which bring an allocator: that of `make test` is not for them.
OWN_ALLOCATOR = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}

Violation = tuple[str, str, str]  # rule, member, message


def compiler(name: str) -> str:
    """The path of a compiler."""
    found = shutil.which(name)
    assert found, f"{name} is missing: scripts/install-debian-packages installs it"
    return found


def write_headers(registry: Registry, folder: Path) -> Path:
    """The headers for a registry; the path of dmlops.h."""
    for name, text in c.render(registry, TEMPLATES).items():
        (folder / Path(name).name).write_bytes(text)
    return folder / "dmlops.h"


def build(header: Path, source: str, program: Path, name: str, *options: str) -> Path:
    """Compile and link a file of tests/c against the header; its warnings are errors.

    With sanitizers the header takes a compiler seconds, and many tests want the same program: each is kept
    under the hash of what it is made of.
    """
    language = ("-x", "c++", "-std=c++17") if name.endswith("++") else ("-std=c11",)
    options = (*language, *WARNINGS, *options)
    folders = [header.parent, *(Path(option[2:]) for option in options if option.startswith("-I"))]
    texts = [path.read_bytes() for folder in folders for path in sorted(folder.glob("*.h"))]
    command = [compiler(name), *(option for option in options if not option.startswith("-I"))]
    made_of = (command, os.stat(command[0]).st_mtime_ns, (SOURCES / source).read_bytes(), texts)
    kept = BUILT / hashlib.sha256(repr(made_of).encode()).hexdigest()
    BUILT.mkdir(parents=True, exist_ok=True)
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # whoever wants the same program meanwhile waits for it
        if kept.exists():
            shutil.copy2(kept, program)
            return program
        places = (*(f"-I{folder}" for folder in folders), str(SOURCES / source), "-o", str(program))
        result = subprocess.run([*command, *places], capture_output=True, text=True, check=False)
        assert result.returncode == 0, result.stderr
        copy = kept.with_suffix(f".{os.getpid()}")
        shutil.copy2(program, copy)
        copy.replace(kept)  # at once: an interrupted run leaves no half a program
    return program


@dataclass(frozen=True)
class Tensor:
    """A DML_TENSOR_DESC with its DML_BUFFER_TENSOR_DESC; `Sizes` and `Strides` None is a null address."""

    DataType: int
    Sizes: Sequence[int] | None
    Strides: Sequence[int] | None
    TotalTensorSizeInBytes: int
    Type: int = 1
    Flags: int = 0
    DimensionCount: int | None = None
    GuaranteedBaseOffsetAlignment: int = 0


@dataclass(frozen=True)
class Bare:
    """A DML_TENSOR_DESC or DML_OPERATOR_DESC without Desc."""

    Type: int = 1


@dataclass(frozen=True)
class Nested:
    """A DML_OPERATOR_DESC; of an operator that the registry lacks, only the type."""

    operator: str
    members: Mapping[str, Any]


Member = Tensor | Bare | Nested | int | float | bytes | Sequence[Any] | Mapping[str, Any] | None


class Memory:
    """The memory of a description: blocks of bytes, and addresses in them."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.lines: list[str] = []
        self._blocks = 0

    def block(self, content: bytes, addresses: Mapping[int, int | None]) -> int:
        """A block of these bytes, with the addresses of other blocks at some offsets."""
        self.lines.append(f"block {len(content)} {content.hex()}")
        given = {offset: target for offset, target in addresses.items() if target is not None}
        self.lines += [f"point {self._blocks} {offset} {target}" for offset, target in given.items()]
        self._blocks += 1
        return self._blocks - 1

    def array(self, items: Sequence[tuple[bytes, Mapping[int, int | None]]]) -> int:
        """A block of consecutive structs."""
        addresses: dict[int, int | None] = {}
        end = 0
        for content, inner in items:
            addresses |= {end + offset: target for offset, target in inner.items()}
            end += len(content)
        return self.block(b"".join(content for content, _ in items), addresses)

    def operator(self, type_: int, desc: int | None) -> tuple[bytes, dict[int, int | None]]:
        """A DML_OPERATOR_DESC, or a DML_TENSOR_DESC, which looks the same."""
        return struct.pack("<QQ", type_, 0), {8: desc}

    def struct(self, layout_of: Struct | Operator, members: Mapping[str, Member]) -> int:
        """A block that holds a struct; members that are left out are 0 or null."""
        places = layout(self.registry, layout_of, 8)
        content, addresses = bytearray(places.size), dict[int, int | None]()
        for member, offset in zip(layout_of.members, places.offsets, strict=True):
            value = members.get(member.name)
            if value is None:
                continue
            if member.pointer:
                addresses[offset] = self.target(member, value)
            else:
                packed = self.value(member, value)
                content[offset : offset + len(packed)] = packed
        return self.block(bytes(content), addresses)

    def target(self, member: RegistryMember, value: Member) -> int:
        """A block that holds what a member points to."""
        entries = value if isinstance(value, list | tuple) else [value]
        if member.is_tensor:
            return self.array([self.tensor(entry) for entry in entries])
        if member.type == "OPERATOR_DESC":
            return self.array([self.nested(entry) for entry in entries])
        return self.array([(self.value(member, entry), {}) for entry in entries])

    def tensor(self, value: Tensor | Bare) -> tuple[bytes, dict[int, int | None]]:
        if isinstance(value, Bare):
            return self.operator(value.Type, None)
        rank = len(value.Sizes or ()) if value.DimensionCount is None else value.DimensionCount
        members = {**vars(value), "DimensionCount": rank}
        return self.operator(value.Type, self.struct(self.registry.structs["BUFFER_TENSOR_DESC"], members))

    def nested(self, value: Nested | Bare) -> tuple[bytes, dict[int, int | None]]:
        if isinstance(value, Bare):
            return self.operator(value.Type, None)
        operator = self.registry.operator[value.operator]
        return self.operator(operator.value, self.struct(operator, value.members))

    def value(self, member: RegistryMember, value: Any) -> bytes:
        """The bytes of one number or of a struct of numbers; those of a union are given."""
        if isinstance(value, bytes):
            return value
        if isinstance(value, Mapping):
            parts = self.registry.structs[member.type].members
            return b"".join(self.value(part, value[part.name]) for part in parts)
        number = self.registry.types.get(member.type)
        if number is None:
            return struct.pack("<I", value)
        if number.kind == "float":
            return struct.pack("<f" if number.bits == 32 else "<d", value)
        return int(value).to_bytes(number.bits // 8, "little", signed=number.kind == "signed")


def case(
    registry: Registry,
    operator: Operator,
    level: int,
    members: Mapping[str, Member] | None,
    capacity: int = 32,
    type_: int | None = None,
) -> str:
    """The runner's text of a description; members that are left out are 0 or null, as Desc is without any."""
    memory = Memory(registry)
    desc = None if members is None else memory.struct(operator, members)
    place = memory.block(*memory.operator(operator.value if type_ is None else type_, desc))
    return "\n".join([*memory.lines, f"judge {level} {place} {capacity}\n"])


def described(registry: Registry, desc: dmlops.Description) -> dict[str, Member]:
    """The members of a description of the Python package; in C, only an array with entries can be absent."""
    operator = registry.operator[desc.OPERATOR]
    members = {m.name: _member(registry, desc, m, getattr(desc, m.name)) for m in operator.members}
    absent = [m.count for m in operator.members if m.count and members[m.name] is None]
    return {**members, **{count: members[count] or 1 for count in absent}}


def _member(registry: Registry, desc: dmlops.Description, member: RegistryMember, value: Any) -> Member:
    match value:
        case dmlops.TensorDesc():
            fields = ("Flags", "GuaranteedBaseOffsetAlignment")
            others = {name: int(getattr(value, name)) for name in fields}
            return Tensor(int(value.DataType), value.Sizes, value.Strides, value.size_in_bytes, **others)
        case dmlops.Description():
            return Nested(value.OPERATOR, described(registry, value))
        case tuple():
            return [_member(registry, desc, member, entry) for entry in value]
        case int() | float() if member.typed_by:
            typed_by = getattr(desc, member.typed_by)
            type_ = typed_by.DataType if isinstance(typed_by, dmlops.TensorDesc) else typed_by
            return _union(type_, value)
        case int() | float() | None:
            return value
    parts = registry.structs[member.type].members
    return {part.name: getattr(value, part.name) for part in parts}


def _union(type_: Any, value: float) -> bytes:
    kind = getattr(type_, "kind", None)
    if kind == "float" or kind is None:
        return struct.pack("<d", value)
    return int(value).to_bytes(8, "little", signed=kind == "signed")


def run(program: Path, cases: Iterable[str]) -> list[tuple[int, list[Violation]]]:
    """For each case the number of violations and those that were written out."""
    texts = list(cases)
    result = subprocess.run(
        [program], env=OWN_ALLOCATOR, input="".join(texts), capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    lines = iter(result.stdout.splitlines())
    results: list[tuple[int, list[Violation]]] = []
    for text in texts:
        count = int(next(lines))
        written = min(count, int(text.split()[-1]))
        violations = [next(lines).split("\t") for _ in range(written)]
        results.append((count, [(rule, member, message) for rule, member, message in violations]))
    return results
