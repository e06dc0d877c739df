"""Double entry: which function of DirectMLX.h makes an operator, and its defaults, against the registry.

Where its functions have none, defaults are those of ONNX's pooling.
"""

from __future__ import annotations

import onnx.defs
import pytest
from onnx import TensorProto, helper
from onnx.shape_inference import infer_node_outputs

from dmlgen.registry import Operator, Registry
from dmlops import TensorDesc, make
from facts_data import rows

Functions = dict[tuple[str, str], dict[str, str]]  # by operator and function: parameters with their defaults
POOLING = {
    "AVERAGE_POOLING": "AveragePool",
    "AVERAGE_POOLING1": "AveragePool",
    "LP_POOLING": "LpPool",
    "LP_POOLING1": "LpPool",
    "MAX_POOLING": "MaxPool",
    "MAX_POOLING1": "MaxPool",
    "QUANTIZED_LINEAR_AVERAGE_POOLING": "AveragePool",
}


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
    compared = set()
    for (name, _), defaults in functions.items():
        operator = registry.operator[name]
        for parameter, default in defaults.items():
            member = _member(operator, parameter)
            of_input, has_default = "DML_TENSOR_DATA_TYPE_UNKNOWN", default not in ("true", "false")
            if member in operator.member and default != of_input and has_default:  # BOOL has none in specs
                assert _shown(registry, operator, member) == _number(default), (name, parameter)
                compared.add((name, member))
    ours = {(one.name, member) for one in registry.operators for member in one.defaults}
    assert {name for name, _ in ours - compared} == POOLING.keys()


@pytest.mark.parametrize("name", POOLING)
def test_pooling_has_the_defaults_of_onnx(registry: Registry, name: str) -> None:
    """Only a window gives the sizes that ONNX infers: any other stride, padding or dilation gives others."""
    schema, sizes, window = onnx.defs.get_schema(POOLING[name]), (1, 1, 9, 8), [3, 2]
    node = helper.make_node(POOLING[name], ["x"], ["y"], kernel_shape=window)
    x = helper.make_tensor_type_proto(TensorProto.FLOAT, sizes)
    imports = [helper.make_opsetid("", schema.since_version)]
    theirs = infer_node_outputs(schema, node, {"x": x}, opset_imports=imports)["y"].tensor_type
    type_ = "UINT8" if name.startswith("QUANTIZED") else "FLOAT32"
    members = {
        "InputTensor": TensorDesc(type_, sizes),
        "InputScaleTensor": (1, 1, 1, 1),
        "OutputScaleTensor": (1, 1, 1, 1),
        "OutputTensor": type_,
        "WindowSize": window,
    }
    known = registry.operator[name].member
    desc = getattr(make, name.lower())(**{one: value for one, value in members.items() if one in known})
    assert list(desc.OutputTensor.Sizes) == [one.dim_value for one in theirs.shape.dim]
    for member, attribute in (("P", "p"), ("IncludePadding", "count_include_pad")):
        if member in known:
            default = schema.attributes[attribute].default_value.i
            assert registry.operator[name].defaults[member] == default


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
