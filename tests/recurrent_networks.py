"""Descriptions of recurrent networks."""

from __future__ import annotations

from typing import Any

import dmlops

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": ["TANH"], "GRU": ["SIGMOID", "TANH"], "LSTM": ["SIGMOID", "TANH", "SOFTSIGN"]}
USUAL: dict[str, dict[str, Any]] = {
    "RNN": {},
    "GRU": {"LinearBeforeReset": True},
    "LSTM": {"ClipThreshold": 0.5, "UseClipThreshold": False, "CoupleInputForget": False},
}


def network(
    operator: str,
    batch: int,
    size: int,
    units: int,
    *,
    direction: str = "FORWARD",
    data_type: str = "FLOAT32",
    steps: int = 3,
    without: tuple[str, ...] = (),
    **members: Any,
) -> dict[str, Any]:
    """The form of a description with all tensors that it may have, less some."""
    ways, rows = 2 if direction == "BIDIRECTIONAL" else 1, GATES[operator] * units
    states = [1, ways, batch, units]
    sizes = {
        "InputTensor": [1, steps, batch, size],
        "WeightTensor": [1, ways, rows, size],
        "RecurrenceTensor": [1, ways, rows, units],
        "BiasTensor": [1, 1, ways, 2 * rows],
        "HiddenInitTensor": states,
        "SequenceLengthsTensor": [1, 1, 1, batch],
        "OutputSequenceTensor": [steps, *states[1:]],
        "OutputSingleTensor": states,
    }
    if operator == "LSTM":
        sizes |= {"CellMemInitTensor": states, "OutputCellSingleTensor": states}
        sizes |= {"PeepholeTensor": [1, 1, ways, 3 * units]}
    form: dict[str, Any] = {
        name: {"DataType": "UINT32" if name == "SequenceLengthsTensor" else data_type, "Sizes": one}
        for name, one in sizes.items()
        if name not in without
    }
    functions = [{"type": f"ACTIVATION_{one}", "desc": {}} for one in FUNCTIONS[operator]] * ways
    form |= {"ActivationDescCount": len(functions), "ActivationDescs": functions, "Direction": direction}
    return form | USUAL[operator] | members


def made(form: dict[str, Any], operator: str) -> Any:
    """The description, which is valid."""
    desc = dmlops.from_json({"type": operator, "desc": form})
    assert [one for one in desc.validate("6.4") if not one.advice] == []
    return desc
