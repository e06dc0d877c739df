"""Access to nodes whose shape the JSON Schema has already checked, and the collecting of faults."""

from __future__ import annotations

import re
from collections.abc import Collection
from types import TracebackType

from dmlgen.diagnostics import Finding, Position, SpecError, nearest, shown
from dmlgen.source import Mapping, Node, Scalar, Sequence
from dmlgen.text import Message, Piece, Text


class Faults(list[Finding]):
    """Collects the faults of the block it guards, so that one fault does not hide the next:

    with faults:
        ...  # a SpecError ends the block, not the run
    """

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, SpecError):
            self.extend(error.findings)
            return True
        return False

    def stop(self) -> None:
        """Raise what has been collected, if anything."""
        if self:
            raise SpecError(self)


def fault(position: Position, code: str, message: str, suggestion: str | None = None) -> SpecError:
    """One fault, to be raised."""
    return SpecError([Finding(position, code, message, suggestion=suggestion)])


def mapping(node: Mapping, name: str) -> Mapping:
    """The mapping below a key; an empty one where the key is absent."""
    value = node.get(name)
    return value if isinstance(value, Mapping) else Mapping(node.position, ())


def mappings(node: Mapping, name: str) -> list[Mapping]:
    """The mappings in the list below a key."""
    value = node.get(name)
    return [item for item in value.items if isinstance(item, Mapping)] if isinstance(value, Sequence) else []


def scalars(node: Mapping, name: str) -> list[Scalar]:
    """The scalars in the list below a key."""
    value = node.get(name)
    return [item for item in value.items if isinstance(item, Scalar)] if isinstance(value, Sequence) else []


def scalar(node: Mapping, name: str) -> Scalar | None:
    """The scalar below a key, None where the key is absent."""
    value = node.get(name)
    return value if isinstance(value, Scalar) else None


def required(node: Mapping, name: str) -> Scalar:
    """The scalar below a key that the schema requires."""
    value = node.get(name)
    assert isinstance(value, Scalar), name
    return value


def text(node: Mapping, name: str, default: str = "") -> str:
    """The scalar below a key as text."""
    value = node.get(name)
    return str(value.value) if isinstance(value, Scalar) else default


def free_text(node: Mapping, name: str) -> Text:
    """The scalar below a key as free text: one line, white space folded."""
    return Text(folded(text(node, name).strip()))


def message(node: Mapping, key: str, names: Collection[str]) -> Message:
    """The scalar below a key as a message, in which these names in braces stand for values."""
    value = scalar(node, key)
    if value is None:
        return ()
    line, pieces, start = str(value.value), list[Piece](), 0
    for match in re.finditer(r"\{([^{}]*)\}|[{}]", line):
        name = match[1]
        if name is None:
            raise fault(value.at(match.start()), "message", "unmatched brace")
        if name not in names:
            known = ", ".join(sorted(names)) or "none"
            text_ = f"{shown(name)} is not a name that this message can show; it knows {known}"
            raise fault(value.at(match.start(1)), "unknown-name", text_, nearest(name, names))
        pieces.append(Piece(Text(folded(line[start : match.start()])), name))
        start = match.end()
    rest = Text(folded(line[start:].rstrip()))
    return (*pieces, Piece(rest)) if rest else tuple(pieces)


def folded(part: str) -> str:
    """A part of a text with every run of white space, line ends above all, made one space."""
    return re.sub(r"\s+", " ", part)


def integer(node: Mapping, name: str, default: int = 0) -> int:
    """The integer below a key."""
    value = node.get(name)
    return value.value if isinstance(value, Scalar) and isinstance(value.value, int) else default


def flag(node: Mapping, name: str) -> bool:
    """Whether the key is there and true."""
    value = node.get(name)
    return isinstance(value, Scalar) and value.value is True


def place(node: Mapping, name: str) -> Position:
    """Where a key's value stands; the mapping itself where the key is absent."""
    value: Node | None = node.get(name)
    return value.position if value is not None else node.position
