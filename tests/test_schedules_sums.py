"""Recurrent networks, whose intermediate tensors share sums of products: dispatches and results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gpu_results
import recurrent_networks
from dmlops import TensorDesc, gpu
from dmlops.gpu.plans import sums
from gpu_device import device
from gpu_results import COOPERATIVE, check_cooperative, check_results
from recurrent_networks import made
from tensors import padded

__all__ = ["device"]


def network(operator: str, *sizes: int, **members: Any) -> Any:
    """By batches, entries of the input, and units."""
    return made(recurrent_networks.network(operator, *sizes, **members), operator)


OPTIONAL = ("BiasTensor", "HiddenInitTensor", "SequenceLengthsTensor")
BOTH: Any = {"direction": "BIDIRECTIONAL"}
HALF: Any = {"data_type": "FLOAT16"}
COUPLED: Any = {"direction": "BACKWARD", "UseClipThreshold": True, "CoupleInputForget": True}
CASES = {
    "rnn": network("RNN", 2, 40, 64),
    "rnn, both ways, many": network("RNN", 33, 24, 36, **BOTH),
    "rnn, halves, backward": network("RNN", 9, 33, 70, direction="BACKWARD", **HALF),
    "rnn of one unit": network("RNN", 80, 64, 1),
    "gru": network("GRU", 1, 32, 64),
    "gru, reset first": network("GRU", 17, 20, 48, LinearBeforeReset=False),
    "gru, reset first, both ways": network("GRU", 3, 31, 37, LinearBeforeReset=False, **BOTH, **HALF),
    "lstm": network("LSTM", 1, 32, 64, without=(*OPTIONAL, "PeepholeTensor", "CellMemInitTensor")),
    "lstm, all there": network("LSTM", 4, 36, 40, **BOTH),
    "lstm, cut and coupled": network("LSTM", 12, 20, 33, **COUPLED),
    "lstm, halves": network("LSTM", 32, 64, 64, without=("OutputSequenceTensor",), **HALF),
    "lstm, no last state": network("LSTM", 7, 16, 52, without=("OutputSingleTensor", *OPTIONAL)),
    "lstm, one step": network("LSTM", 40, 16, 52, steps=1),
}
HALVES = {
    "rnn": network("RNN", 17, 40, 64, **HALF),
    "rnn, both ways, many": network("RNN", 70, 24, 40, **BOTH, **HALF),
    "gru": network("GRU", 20, 32, 168, **HALF),
    "gru, reset first": network("GRU", 9, 24, 40, LinearBeforeReset=False, **BOTH, **HALF),
    "lstm, all there": network("LSTM", 12, 8, 136, **BOTH, **HALF),
    "lstm, halves": CASES["lstm, halves"],
    "lstm, tiles for steps alone": network("LSTM", 32, 60, 64, **HALF),
    "lstm, cut and coupled": network("LSTM", 33, 16, 48, **COUPLED, **HALF),
}


def spread(tensor: TensorDesc) -> TensorDesc:
    """The tensor, its elements two apart and its rows further."""
    return replace(tensor, Strides=tuple(2 * stride for stride in padded(tensor.Sizes, 1)))


def inputs_of(desc: Any) -> dict[str, np.ndarray]:
    """Small numbers; sequences of all lengths."""
    inputs = gpu_results.inputs_of(desc)
    for name, one in inputs.items():
        if name == "SequenceLengthsTensor":
            one[:] = np.arange(one.size) % (desc.InputTensor.Sizes[1] + 1)
        else:
            one[:] = one / 8
    return inputs


def test_a_step_takes_one_dispatch() -> None:
    """But a GRU that resets before the product takes two; the input takes another one, and so does each
    output. The first step waits for nothing. Later ones have the same constants, so that they stay in a
    device's cache if dispatches share them."""
    for name, desc in CASES.items():
        outputs = sum(getattr(desc, one.name) is not None for one in desc.MEMBERS if one.role == "output")
        found, each = gpu.plan(desc).dispatches, 2 if "reset first" in name else 1
        assert len(found) == outputs + 1 + each * (desc.InputTensor.Sizes[1] + 1), name
        assert [one.needs_barrier for one in found[: each + 2]] == [False] * (each + 1) + [True], name
        steps = {(one.defines["PASS"], one.constants) for one in found if "SUM_ROWS" in one.defines}
        assert len(steps) == 1 + 2 * each, name  # the input, and the first step


NUMBERS = (("SUMS_ROWS", 1), ("SUMS_ROWS", 16), ("SUMS_GROUPS", 1), ("SUMS_AHEAD", 1), ("SUMS_OWN", 16))
SHARED = ("rnn, both ways, many", "gru, reset first", "lstm, all there")
RUNS: list[tuple[Any, Any, Any]] = [  # how results are checked, what replaces planners' numbers, and networks
    *((check_results, {}, desc) for desc in CASES.values()),
    *((check_results, {name: value}, CASES[case]) for name, value in NUMBERS for case in SHARED),
    *((check_cooperative, {}, desc) for desc in HALVES.values()),
    *(
        (check_cooperative, {"sums_candidates": lambda tile=tile: [tile]}, HALVES[case])
        for tile in sums.sums_candidates()
        for case in ("rnn, both ways, many", "gru", "lstm, all there")
    ),
]


@pytest.mark.parametrize("number", range(len(RUNS)))
def test_networks_give_what_the_reference_gives(
    number: int, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    check, numbers, desc = RUNS[number]
    for name, value in numbers.items():
        monkeypatch.setattr(sums, name, value)
    check(device, desc, inputs_of(desc))


@pytest.mark.parametrize("name", ["lstm, all there", "gru, reset first", "rnn"])
def test_any_strides(name: str, device: Any) -> None:
    desc = CASES[name]
    names = [one.name for one in desc.MEMBERS if isinstance(getattr(desc, one.name), TensorDesc)]
    check_results(
        device, replace(desc, **{one: spread(getattr(desc, one)) for one in names}), inputs_of(desc)
    )
    weights = desc.RecurrenceTensor
    turned = TensorDesc(weights.DataType, weights.Sizes, Strides=(0, 0, 1, weights.Sizes[2]))
    inputs = inputs_of(desc)
    inputs["RecurrenceTensor"][:] = inputs["RecurrenceTensor"][:, :1]
    check_results(device, replace(desc, RecurrenceTensor=turned), inputs)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(
    ("cases", "check"), [(CASES, check_results), (HALVES, check_cooperative)], ids=["alone", "matrices"]
)
def test_what_is_no_number_stays_with_its_batch(value: float, cases: Any, check: Any, device: Any) -> None:
    desc = cases["lstm, all there"]
    inputs = inputs_of(desc)
    inputs["SequenceLengthsTensor"][:] = 3
    inputs["InputTensor"][0, 1, 2, 5] = value
    found = check(device, desc, inputs)["OutputSequenceTensor"]
    assert np.isfinite(np.delete(found, 2, 2)).all()


def by_units(desc: Any) -> list[int]:
    """The dispatches that take cooperative matrices."""
    return [int("COOPERATIVE_MATRIX" in step.defines) for step in gpu.plan(desc, COOPERATIVE).dispatches]


def test_what_is_for_cooperative_matrix() -> None:
    """Float16 in whole vectors of eight, for several sequences."""
    lstm = HALVES["lstm, halves"]
    assert by_units(lstm) == [1] * 5 + [0, 0]
    assert by_units(HALVES["gru, reset first"]) == [1] + [1, 1] * 4 + [0, 0]
    assert by_units(HALVES["lstm, tiles for steps alone"]) == [0] + [1] * 4 + [0] * 3
    assert not any(by_units(replace(lstm, RecurrenceTensor=spread(lstm.RecurrenceTensor)))[1:])
    assert not any(by_units(network("LSTM", 32, 64, 64)))
    assert not any(by_units(network("LSTM", 1, 64, 64, steps=4, **HALF)))
