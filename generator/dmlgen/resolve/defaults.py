"""The default values of members: numbers and enumerator names."""

from __future__ import annotations

from collections.abc import Mapping

from dmlgen import written
from dmlgen.diagnostics import fault, nearest
from dmlgen.registry import Member
from dmlgen.resolve.faults import check_known
from dmlgen.resolve.general import General
from dmlgen.source import Scalar

Default = int | float | str


def resolve_defaults(
    general: General, node: written.Defaults | None, members: Mapping[str, Member]
) -> dict[str, Default]:
    """Defaults by member: for an array the value of each entry, for an output its data type."""
    given = node.values if node is not None else {}
    return {key.value: _default(general, key.value, value, members) for key, value in given.items()}


def _default(general: General, name: str, scalar: Scalar[Default], members: Mapping[str, Member]) -> Default:
    if name not in members:
        message = f"{name!r} is not a member"
        raise fault(scalar.position, "unknown-name", message, nearest(name, members))
    member, value = members[name], scalar.value
    if member.role == "input":
        raise fault(scalar.position, "default", f"{name} is an input; only a caller can say what it is")
    enum = general.enums.get("TENSOR_DATA_TYPE" if member.role == "output" else member.type)
    if enum is not None:
        names = [entry.name for entry in enum.entries]
        check_known(scalar, names, f"{value!r} is not a value of {enum.c_name}")
        return str(value)
    number = general.types.get(member.type)
    if number is None:
        raise fault(scalar.position, "default", f"{name} is not a number, so it cannot have a default")
    if number.kind == "float" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if number.kind != "float" and isinstance(value, int) and number.range[0] <= value <= number.range[1]:
        return int(value)
    raise fault(scalar.position, "default", f"{value!r} is not a number that {name}, {number.name}, can be")
