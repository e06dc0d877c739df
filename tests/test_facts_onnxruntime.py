"""Double entry: the kernels of ONNX Runtime's DirectML provider, and the schemas of the operators that it
contributes to ONNX, against the registry."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import AttributeProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as onnxruntime

from dmlgen.registry import Registry
from facts_data import rows

NAMES = {"float": "FLOAT32", "double": "FLOAT64", "bool": "UINT8"}


def test_registrations(registry: Registry) -> None:
    """Their versions, and the data types of one of their type parameters."""
    known = {entry.name for entry in registry.enums["TENSOR_DATA_TYPE"].entries}
    kernels = {name: (versions, parameters) for name, versions, *parameters in rows("onnxruntime.tsv")}
    ours = {f"{one.domain}.{one.name}".lstrip("."): one for one in registry.counterparts.registrations}
    assert ours.keys() == kernels.keys()
    for name, (versions, parameters) in kernels.items():
        types = [
            {NAMES.get(one, one.upper()) for one in parameter.partition("=")[2].split(",")} & known
            for parameter in parameters
        ]
        assert ",".join(map(str, ours[name].versions)) == versions, name
        assert set(ours[name].types or ()) in types, name


def test_contributed_operators_have_their_schemas(registry: Registry) -> None:
    """Inputs, outputs and attributes that both versions have; a default that its schema only describes is
    left out."""
    schemas = {
        one.name: one for one in onnxruntime.get_all_operator_schema() if one.domain == "com.microsoft"
    }
    marks = {"?": "Optional", "*": "Variadic"}
    compared = 0
    for operation in registry.counterparts.operations:
        if (schema := schemas.get(operation.name)) and operation.domain == schema.domain:
            signature = operation.signatures[0]
            assert operation.signatures[-1].first == schema.since_version, operation.name
            for ours, theirs in ((signature.inputs, schema.inputs), (signature.outputs, schema.outputs)):
                for formal, one in zip(ours, theirs, strict=False):
                    kind = marks.get(formal[-1], "Single")
                    assert (formal.rstrip("?*"), kind) == (one.name, one.option.name), operation.name
            for name in signature.attributes.keys() & schema.attributes.keys():
                default = _default(schema.attributes[name])
                assert default is None or signature.attributes[name] == default, (operation.name, name)
                compared += 1
    assert compared > 100


def _default(attribute: Any) -> Any:
    """None if there is none."""
    if not attribute._default_value:
        return None
    value = helper.get_attribute_value(AttributeProto.FromString(attribute._default_value))
    return pytest.approx(value) if isinstance(value, float) else getattr(value, "decode", lambda: value)()
