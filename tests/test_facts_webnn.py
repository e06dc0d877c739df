"""Double entry: the operations of WebNN with their arguments, options and defaults, against the registry."""

from __future__ import annotations

from collections import defaultdict

import pytest

from dmlgen.registry import Registry, Signature
from facts_data import rows

OLDER = {"roundingType"}  # what outputShapeRounding was called before, which the registry reads too
OUTSIDE = {"constant", "input"}  # not declared with the operations: they have no operands

Arguments = dict[str, tuple[str, str]]  # by name: type in IDL, and default


@pytest.fixture(scope="module")
def operations() -> dict[str, Arguments]:
    found: dict[str, Arguments] = defaultdict(dict)
    for kind, method, *row in rows("webnn.tsv"):
        if kind == "argument":
            name, type_, default = row
            found[method][name] = (type_, default)
    return found


@pytest.fixture(scope="module")
def signatures(registry: Registry) -> dict[str, Signature]:
    return {
        one.name: one.signatures[0] for one in registry.counterparts.operations if one.interface == "webnn"
    }


def test_there_are_no_others(operations: dict[str, Arguments], signatures: dict[str, Signature]) -> None:
    assert signatures.keys() - OUTSIDE == operations.keys()


def test_operands(operations: dict[str, Arguments], signatures: dict[str, Signature]) -> None:
    """Those of the options are optional; the order is that of the arguments, then that of the options."""
    for method, arguments in operations.items():
        theirs = [
            name + ("*" if type_.startswith("sequence") else "" if default == "required" else "?")
            for name, (type_, default) in arguments.items()
            if "MLOperand>" in type_ or type_ == "MLOperand"
        ]
        assert list(signatures[method].inputs) == theirs, method


def test_options_have_the_defaults_of_the_dictionaries(
    operations: dict[str, Arguments], signatures: dict[str, Signature]
) -> None:
    for method, arguments in operations.items():
        theirs = {
            name: _value(default)
            for name, (type_, default) in arguments.items()
            if "MLOperand>" not in type_ and type_ != "MLOperand"
        }
        ours = {name: one for name, one in signatures[method].attributes.items() if name not in OLDER}
        assert ours == theirs, method


def _value(default: str) -> float | str | None:
    """None for an argument without a default."""
    if default in ("", "required"):
        return None
    known = {"false": 0, "true": 1}
    return known[default] if default in known else float(default) if default[0].isdigit() else default
