"""The context of a form besides the definition: what rules and tables say of the tensors in one case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from dmlgen.expr import ir
from dmlgen.registry import Enum, EnumEntry, Inference, Member, Support
from dmlgen.schedules.cases import Choice, written


@dataclass(frozen=True)
class TensorFacts:
    """An operator's members, what rules imply for its outputs, its tables, and the enumerations."""

    members: Mapping[str, Member]
    inferences: tuple[Inference, ...]
    support: Mapping[str, tuple[Support, ...]]
    enums: Mapping[str, Enum]

    def is_certain(self, tensor: str) -> bool:
        """Whether it is a single tensor that is never absent."""
        return not self.members[tensor].optional and self.members[tensor].count is None

    def field(self, output: str, name: str, choice: Choice) -> ir.Expr | None:
        """The value that rules demand of a field of an output."""
        for one in self.inferences:
            applies = one.when is None or written(one.when, choice) == ir.Number(True, ir.BOOL)
            if (one.tensor, one.field) == (output, name) and one.demanded and applies:
                return written(one.value, choice)
        return None

    def has_type_of(self, output: str, tensor: str, choice: Choice) -> bool:
        """Whether rules demand that an output has the data type of a tensor."""
        match self.field(output, "DataType", choice):
            case ir.Field(tensor=ir.Tensor(name=name, index=None), name="DataType"):
                return name == tensor
        return False

    def may_be(self, tensor: str, kind: str, bits: int) -> bool:
        """Whether a table allows a tensor a data type of that kind and size."""
        return any((entry.kind, entry.bits) == (kind, bits) for entry in self.types(tensor))

    def rank(self, tensor: str) -> int | None:
        """The dimensions that tables allow a tensor, if they agree on one number."""
        ranks = {rank for row in self._rows(tensor) for rank in row.ranks}
        return ranks.pop() if len(ranks) == 1 else None

    def is_float(self, tensor: str, choice: Choice) -> bool:
        """Whether tables allow a tensor only floating-point types."""
        return all(entry.kind == "float" for entry in self.types(tensor, choice))

    def has_whole_words(self, tensor: str) -> bool:
        """Whether tables allow a tensor only types of exactly 32 bits."""
        return all(entry.bits == 32 for entry in self.types(tensor))

    def types(self, tensor: str, choice: Choice = MappingProxyType({})) -> set[EnumEntry]:
        """The data types that tables allow a tensor."""
        types = {entry.name: entry for entry in self.enums["TENSOR_DATA_TYPE"].entries}
        false = ir.Number(False, ir.BOOL)
        rows = (row for row in self._rows(tensor) if row.when is None or written(row.when, choice) != false)
        return {types[type_] for row in rows for type_ in row.types}

    def _rows(self, tensor: str) -> set[Support]:
        return {row for table in self.support.values() for row in table if row.tensor == tensor}
