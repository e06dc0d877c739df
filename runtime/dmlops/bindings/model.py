"""The contents of a binding table, and what they are bound to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from ..description import Description
from ..graph import Graph
from ..registry import INTEGERS
from ..violation import Violation
from .requirements import Requirements, of_graph, of_operator


def _check_bytes(value: int) -> None:
    least, most = INTEGERS["UINT64"]
    if not least <= value <= most:
        raise ValueError(f"{value} is not a number of bytes, from {least} to {most}")


@dataclass(frozen=True, slots=True)
class Range:
    """A range of a buffer, as in DML_BUFFER_BINDING; numbers are in bytes.

    `buffer` identifies the resource. `width` is its size, `heap` its D3D12_HEAP_TYPE and `dimension` its
    D3D12_RESOURCE_DIMENSION, by names such as "DEFAULT" and "BUFFER"; 0 and None mean unknown. Raises
    ValueError for a number that is not a UINT64.
    """

    buffer: str
    offset: int
    size: int
    width: int = 0
    heap: str | None = None
    dimension: str | None = None

    def __post_init__(self) -> None:
        for value in (self.offset, self.size, self.width):
            _check_bytes(value)


Binding: TypeAlias = Range | Sequence[Range | None] | None


@dataclass(frozen=True)
class Target:
    """An operator or a graph to bind to, with the PersistentResourceSize that DirectML gives for it."""

    what: Description | Graph
    persistent_size: int = 0

    def __post_init__(self) -> None:
        _check_bytes(self.persistent_size)

    @property
    def name(self) -> str:
        """Its name in messages."""
        return "the graph" if isinstance(self.what, Graph) else self.what.OPERATOR

    @property
    def is_graph(self) -> bool:
        return isinstance(self.what, Graph)

    @cached_property
    def requirements(self) -> Requirements:
        """The requirements on bindings. Raises ValueError for a description with members of the wrong
        type."""
        return of_graph(self.what) if isinstance(self.what, Graph) else of_operator(self.what)


@dataclass(frozen=True)
class Bindings:
    """The bindings to execute a target, or to initialize any number of them.

    `initialized` is the range of the persistent resource that was initialized, if that is known.
    `temporary_size` is the TemporaryResourceSize of what is executed, or of the initializer.
    """

    phase: Literal["execute", "initialize"]
    targets: tuple[Target, ...]
    _: KW_ONLY
    inputs: tuple[Binding, ...] = ()
    outputs: tuple[Binding, ...] = ()
    persistent: Binding = None
    temporary: Binding = None
    initialized: Range | None = None
    temporary_size: int = 0

    def __init__(
        self,
        phase: Literal["execute", "initialize"],
        targets: Iterable[Target | Description | Graph],
        *,
        inputs: Iterable[Binding] = (),
        outputs: Iterable[Binding] = (),
        persistent: Binding = None,
        temporary: Binding = None,
        initialized: Range | None = None,
        temporary_size: int = 0,
    ) -> None:
        """Raises ValueError for another phase, and if not one target is executed."""
        _check_bytes(temporary_size)
        every = tuple(one if isinstance(one, Target) else Target(one) for one in targets)
        if phase not in ("execute", "initialize"):
            raise ValueError(f"{phase} is not a phase; there are execute and initialize")
        if phase == "execute" and len(every) != 1:
            raise ValueError(f"{len(every)} targets cannot be executed; one can")
        self.__dict__.update(  # all are frozen
            phase=phase,
            targets=every,
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            persistent=persistent,
            temporary=temporary,
            initialized=initialized,
            temporary_size=temporary_size,
        )

    @staticmethod
    def from_json(value: Any) -> Bindings:
        """The bindings in a parsed JSON value. Raises JsonError for anything else."""
        from .json_form import from_json

        return from_json(value)

    def validate(self) -> list[Violation]:
        """The rules that are broken.

        Members start with Inputs, Outputs, Persistent or Temporary. What follows from an earlier violation is
        not reported: bindings are not followed if their number or type is wrong, and ranges outside their
        buffers are not compared. The operators themselves are not validated.
        """
        from .checks import violations

        return violations(self)

    def advice(self) -> list[Violation]:
        """Advice on bindings that break no rule."""
        from .checks import advice

        return advice(self)
