"""Double entry: which function of DirectMLX.h makes an operator, and its defaults, against the registry."""

from __future__ import annotations

import pytest

from dmlgen.registry import Operator, Registry
from facts_data import rows

Functions = dict[tuple[str, str], dict[str, str]]  # by operator and function: parameters with their defaults


@pytest.fixture(scope="module")
def functions() -> Functions:
    found: Functions = {}
    for name, operators, *default in rows("directmlx.tsv"):
        for operator in operators.split(","):
            found.setdefault((operator, name), {}).update([default] if default else [])
    return found


def test_functions_make_the_operators_of_which_the_registry_says_so(
    registry: Registry, functions: Functions
) -> None:
    stated = {(name, one) for name, all_ in registry.counterparts.directmlx.items() for one in all_}
    assert stated == {*functions}


def test_defaults_are_those_of_the_functions(registry: Registry, functions: Functions) -> None:
    compared = 0
    for (name, _), defaults in functions.items():
        operator = registry.operator[name]
        for parameter, default in defaults.items():
            member = _member(operator, parameter)
            of_input, has_default = "DML_TENSOR_DATA_TYPE_UNKNOWN", default not in ("true", "false")
            if member in operator.member and default != of_input and has_default:  # BOOL has none in specs
                assert _shown(registry, operator, member) == _number(default), (name, parameter)
                compared += 1
    assert compared > 30


def _member(operator: Operator, parameter: str) -> str:
    """The member that a parameter is for."""
    if parameter == "outputDataType":
        return operator.outputs[0].name
    return parameter[0].upper() + parameter[1:]


def _shown(registry: Registry, operator: Operator, member: str) -> str | float | None:
    """Our default: a number, or the name of an enumerator as in the header."""
    value = operator.defaults.get(member)
    if not isinstance(value, str):
        return value
    type_ = operator.member[member].type
    return registry.enums["TENSOR_DATA_TYPE" if type_ == "tensor" else type_].prefix + value


def _number(text: str) -> str | float:
    return text if text.startswith("DML_") else float(text)
