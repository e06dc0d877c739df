"""The positions of facts: for those without a position in the registry, the file is read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from dmlgen.diagnostics import Position, SpecError
from dmlgen.diff.change import At
from dmlgen.registry import Operator, Registry
from dmlgen.revisions import Specs
from dmlgen.source import Mapping, Node, Scalar, Sequence, load

Step: TypeAlias = str | Callable[[Node], bool]  # a key of a mapping; which item of a sequence


class Places:
    """Positions in one side's specs, in terms of its label."""

    def __init__(self, specs: Specs) -> None:
        self._specs = specs
        self._files: dict[Path, Node | None] = {}

    @property
    def registry(self) -> Registry:
        return self._specs.registry

    def shown(self, position: Position) -> Position:
        """A position from the registry."""
        return self._specs.place(position)

    def general(self, file: str, *steps: Step) -> Position:
        """A place in `file`.yaml, following the steps as far as possible."""
        return self._below(self._specs.folder / f"{file}.yaml", steps)

    def of(self, operator: Operator, *steps: Step) -> Position:
        """A place in an operator's file, or in the shared file from which the entry comes."""
        path = Path(operator.position.file)
        node = self._file(path)
        if isinstance(node, Mapping) and isinstance(steps[0], str) and node.get(steps[0]) is None:
            shared = node.get("extends")
            if isinstance(shared, Scalar):
                file = self._specs.folder / "shared" / f"{shared.value}.yaml"
                document = self._file(file)
                if isinstance(document, Mapping) and document.get(steps[0]) is not None:
                    path = file
        return self._below(path, steps)

    def support(self, operator: Operator, level: str, tensor: str) -> Position:
        """The row of a tensor in the table that applies at a level."""
        last = self.registry.level[level].ordinal
        for one in reversed(self.registry.levels[: last + 1]):
            found = self.of(operator, "support", one.name, _lists("tensors", tensor))
            if found != self.of(operator, "support"):
                return found
        return self.of(operator, "support")

    def _below(self, path: Path, steps: tuple[Step, ...]) -> Position:
        node = self._file(path)
        position = Position(path.as_posix())
        for step in steps:
            if isinstance(node, Mapping) and isinstance(step, str) and (entry := node.entry(step)):
                position, node = entry.key.position, entry.value
            elif isinstance(node, Sequence) and not isinstance(step, str):
                chosen = [item for item in node.items if step(item)]
                if not chosen:
                    break
                position, node = chosen[0].position, chosen[0]
            else:
                break
        return self.shown(position)

    def _file(self, path: Path) -> Node | None:
        if path not in self._files:
            try:
                self._files[path] = load(path, self._specs.folder)
            except SpecError:  # deleted since the registry was read
                self._files[path] = None
        return self._files[path]


@dataclass(frozen=True)
class Sides:
    """The places of both sides."""

    old: Places
    new: Places

    def shown(self, was: Position | None, now: Position | None) -> At:
        """Positions from both registries."""
        return (
            None if was is None else self.old.shown(was),
            None if now is None else self.new.shown(now),
        )

    def general(self, file: str, *steps: Step) -> At:
        return self.old.general(file, *steps), self.new.general(file, *steps)

    def of(self, was: Operator, now: Operator, *steps: Step) -> At:
        return self.old.of(was, *steps), self.new.of(now, *steps)


def _lists(key: str, value: str) -> Callable[[Node], bool]:
    """Whether an item's list `key` contains the value."""

    def has(item: Node) -> bool:
        listed = item.get(key) if isinstance(item, Mapping) else None
        return isinstance(listed, Sequence) and any(
            isinstance(one, Scalar) and one.value == value for one in listed.items
        )

    return has


def with_value(key: str, value: str) -> Callable[[Node], bool]:
    """Whether an item has the value under the key, however it is folded into lines."""

    def has(item: Node) -> bool:
        given = item.get(key) if isinstance(item, Mapping) else None
        return isinstance(given, Scalar) and str(given.value).split() == value.split()

    return has
