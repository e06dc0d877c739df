"""Every operator with a shader, on descriptions of its matrix: against the reference, in guard zones.

Other tests compare the reference with independent oracles. Here every data type, dimension count and layout
in the matrices is run, with data of all kinds, and nothing but the elements of the outputs may change.
"""

from __future__ import annotations

import enum
import json
import math
import os
import zlib
from itertools import permutations
from typing import Any

import numpy as np
import pytest

import dmlops
import dmlops.registry
from dmlops import gpu
from dmlops.gpu.planner_inputs import planner_of
from dmlops.gpu.plans.scan import plan_scan
from dmlops.gpu.work import tensor_names
from gpu_device import device
from gpu_results import check_results
from matrix_cases import MATRICES, OPERATORS, covering, described

__all__ = ["device"]

MOST = int(os.environ.get("DMLOPS_MATRIX_CASES", "6"))  # of each operator; all with `make test-shaders`
ELEMENTS = 1 << 16  # of a tensor, at most
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, math.inf, -math.inf, math.nan]


def cases(operator: str) -> list[dict[str, Any]]:
    """Small cases that show all that tables allow; of operators with their own forms some of them."""
    small = small_cases(operator)
    if len(small) <= MOST:
        return small
    if follows_definition(operator):
        shown = [(case, features(described(case))) for case in small]
        return covering(shown, lambda case: "outputs" in case)  # test_matrix_data.py needs their shaders, too
    return [small[len(small) * i // MOST] for i in range(MOST)]


def follows_definition(operator: str) -> bool:
    """Whether its shader has passes of its definition, or replaces them."""
    planner = planner_of(operator.upper())
    return planner.shader is not None and not planner.is_map


def features(desc: Any) -> set[tuple[str, Any]]:
    """The data type, dimension count and layout of each tensor, and every choice that a member makes."""
    found: set[tuple[str, Any]] = set()
    for role in ("input", "output"):
        for name, tensor in tensor_names(desc, role):
            strides = [k for n, k in zip(tensor.Sizes, tensor.element_strides, strict=True) if n > 1]
            last = sum((n - 1) * k for n, k in zip(tensor.Sizes, tensor.element_strides, strict=True))
            found |= {(name, tensor.DataType.name), (name, len(tensor.Sizes))}
            found |= {(name, "broadcast")} if 0 in strides else set()
            found |= {(name, "transposed")} if strides != sorted(strides, reverse=True) else set()
            found |= {(name, "gaps")} if last >= math.prod(tensor.Sizes) else set()
    for member in desc.MEMBERS:
        value = getattr(desc, member.name)
        if isinstance(value, bool | enum.Enum):
            found.add((member.name, value))
    return found


def small_cases(operator: str) -> list[dict[str, Any]]:
    """Valid descriptions of small tensors."""
    matrix = json.loads((MATRICES / f"{operator}.json").read_bytes())
    valid = [case for case in matrix["cases"] if case["kind"] == "positive"]
    return [case for case in valid if is_small(described(case))]


def is_small(desc: Any) -> bool:
    tensors = [tensor for role in ("input", "output") for _, tensor in tensor_names(desc, role)]
    return all(tensor.size_in_bytes <= ELEMENTS for tensor in tensors)


def filled(tensor: Any, rng: np.random.Generator) -> np.ndarray:
    """Data of a tensor: numbers of all kinds, the same along dimensions of stride 0."""
    sizes = [
        1 if stride == 0 else size for size, stride in zip(tensor.Sizes, tensor.element_strides, strict=True)
    ]
    data_type = tensor.DataType.numpy
    if data_type.kind == "f":
        data = rng.normal(0, 4, sizes)
        special = rng.random(sizes) < 0.1
        data[special] = rng.choice(SPECIAL, int(special.sum()))
    else:
        low = -(1 << tensor.DataType.bits - 1) if data_type.kind == "i" else 0
        high = low + (1 << tensor.DataType.bits) - 1
        data = rng.integers(max(low, -9), min(high, 9), sizes, endpoint=True)
        special = rng.random(sizes) < 0.1
        data[special] = rng.choice(np.array([low, high if high < 2**63 else 2**63 - 1]), int(special.sum()))
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(np.broadcast_to(data.astype(data_type), tensor.Sizes))


def inputs_of(desc: Any, rng: np.random.Generator) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for member in desc.MEMBERS:
        value = getattr(desc, member.name)
        if member.role == "input" and value is not None:
            arrays[member.name] = (
                [filled(one, rng) for one in value] if isinstance(value, tuple) else filled(value, rng)
            )
    return arrays


@pytest.mark.parametrize("operator", OPERATORS)
def test_shaders_give_what_the_reference_gives(operator: str, device: Any) -> None:
    """Sums, whose terms may cancel, relative to the largest number of the tensor; all else to the element."""
    chosen = cases(operator)
    assert chosen, "the matrix has no small valid description"
    sums = follows_definition(operator) or planner_of(operator.upper()).plan is plan_scan
    for case in chosen:
        desc = described(case)
        inputs = inputs_of(desc, np.random.default_rng(zlib.crc32(case["id"].encode())))
        check_results(device, desc, inputs, sums=sums)


@pytest.mark.parametrize(
    "operator",
    [name for name in OPERATORS if dmlops.registry.operator(name.upper()).IN_PLACE],
)
def test_results_in_place_are_the_same(operator: str, device: Any) -> None:
    shared = 0
    for case in small_cases(operator):
        desc = described(case)
        inputs = dict(tensor_names(desc, "input"))
        pairs = [(output, name) for output, _ in tensor_names(desc, "output") for name in inputs]
        layouts = {
            name: (one.DataType.bits, one.element_strides)
            for role in ("input", "output")
            for name, one in tensor_names(desc, role)
        }
        fitting = [
            (output, name)
            for output, name in pairs
            if name in desc.IN_PLACE and layouts[output] == layouts[name]
        ]
        if shared >= MOST or not fitting:
            continue
        arrays = inputs_of(desc, np.random.default_rng(zlib.crc32(case["id"].encode())))
        expected = gpu.run(desc, arrays, device)
        for output, name in pairs:
            in_place = {output: name}
            if name not in desc.IN_PLACE:
                with pytest.raises(ValueError, match=f"cannot share the buffer of {name}"):
                    gpu.run(desc, arrays, device, in_place=in_place)
            elif (output, name) not in fitting:
                with pytest.raises(ValueError, match="different layouts"):
                    gpu.run(desc, arrays, device, in_place=in_place)
            else:
                found = gpu.run(desc, arrays, device, in_place=in_place)
                for each, array in expected.items():
                    assert found[each].tobytes() == array.tobytes(), (case["id"], in_place)
                shared += 1
    assert shared, "no case has an input and an output of the same layout"


def test_which_inputs_may_share_a_buffer() -> None:
    """As the pages say for each operator."""
    assert dmlops.ElementWiseAdd.IN_PLACE == ("ATensor", "BTensor")
    assert dmlops.ActivationRelu.IN_PLACE == ("InputTensor",)
    assert dmlops.Gather.IN_PLACE == ()
    first_only = (
        dmlops.ElementWisePow,
        dmlops.ActivationParameterizedRelu,
        dmlops.ElementWiseClipGrad,
        dmlops.ElementWiseClipGrad1,
    )
    assert {operator.IN_PLACE for operator in first_only} == {("InputTensor",)}


def test_what_cannot_run_in_place_is_refused(device: Any) -> None:
    tensor = {"DataType": "FLOAT32", "Sizes": [4]}
    join = {"InputTensors": [tensor], "OutputTensor": tensor, "Axis": 0}
    desc = dmlops.from_json({"type": "DML_OPERATOR_JOIN", "desc": join})
    with pytest.raises(ValueError, match="JOIN does not run in place"):
        gpu.run(desc, {"InputTensors": [np.zeros(4, np.float32)]}, device, in_place="InputTensors")


def test_several_outputs_in_place(device: Any) -> None:
    """Any of them may share any input's buffer: each still needs what the others overwrite."""
    tensor = dmlops.TensorDesc("FLOAT16", (1, 3, 5, 7), Strides=(0, 1, 21, 3))
    step = dmlops.TensorDesc("UINT32", (1, 1, 1, 1))
    tensors = {m.name: tensor for m in dmlops.AdamOptimizer.MEMBERS if m.role in ("input", "output")}
    rates = {"LearningRate": 0.1, "Beta1": 0.9, "Beta2": 0.99, "Epsilon": 1e-3}
    desc = dmlops.AdamOptimizer(**{**tensors, "TrainingStepTensor": step}, **rates)
    inputs = inputs_of(desc, np.random.default_rng(3))
    inputs["TrainingStepTensor"] = np.full((1, 1, 1, 1), 3, np.uint32)
    expected = gpu.run(desc, inputs, device)
    assert len({array.tobytes() for array in expected.values()}) == len(expected) == 3
    for sources in permutations(desc.IN_PLACE, 3):
        found = gpu.run(desc, inputs, device, in_place=dict(zip(expected, sources, strict=True)))
        for name, array in expected.items():
            assert found[name].tobytes() == array.tobytes(), sources
    partly = gpu.run(desc, inputs, device, in_place={"OutputSecondMomentTensor": "GradientTensor"})
    assert all(partly[name].tobytes() == array.tobytes() for name, array in expected.items())
    with pytest.raises(ValueError, match="ADAM_OPTIMIZER has several outputs; say which"):
        gpu.run(desc, inputs, device, in_place="InputParametersTensor")
    with pytest.raises(ValueError, match="several outputs cannot share the buffer of GradientTensor"):
        gpu.run(desc, inputs, device, in_place=dict.fromkeys(expected, "GradientTensor"))
    with pytest.raises(ValueError, match="OutputFirstMomentTensor cannot share the buffer of TrainingStepTe"):
        gpu.run(desc, inputs, device, in_place={"OutputFirstMomentTensor": "TrainingStepTensor"})
    with pytest.raises(ValueError, match='no output "OutputTensor"'):
        gpu.run(desc, inputs, device, in_place={"OutputTensor": "GradientTensor"})


def test_without_outputs_there_is_nothing_to_do(device: Any) -> None:
    input_ = {"DataType": "FLOAT32", "Sizes": [1, 2, 1, 3]}
    weights = {"DataType": "FLOAT32", "Sizes": [1, 1, 12, 3]}
    recurrence = {"DataType": "FLOAT32", "Sizes": [1, 1, 12, 4]}
    tensors = {"InputTensor": input_, "WeightTensor": weights, "RecurrenceTensor": recurrence}
    members = {"ActivationDescs": [{"type": "ACTIVATION_SIGMOID", "desc": {}}] * 2, "Direction": "FORWARD"}
    desc = dmlops.from_json({"type": "GRU", "desc": {**tensors, **members, "LinearBeforeReset": False}})
    assert desc.validate("6.4") == []
    arrays = {name: np.zeros(tensor["Sizes"], np.float32) for name, tensor in tensors.items()}
    assert gpu.run(desc, arrays, device) == {}
