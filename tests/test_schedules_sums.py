"""Recurrent networks, whose intermediate tensors share sums of products: dispatches and results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gpu_results
from dmlops import TensorDesc, gpu
from dmlops.gpu.plans import sums
from dmlops.gpu.plans.tile_cost import Tile
from gpu_device import device
from gpu_results import COOPERATIVE, check_cooperative, check_results
from recurrent_networks import made, network
from tensors import padded

__all__ = ["device"]


OPTIONAL = ("BiasTensor", "HiddenInitTensor", "SequenceLengthsTensor")
CASES = {
    "rnn": network("RNN", 2, 40, 64),
    "rnn, both ways, many": network("RNN", 33, 24, 36, direction="BIDIRECTIONAL"),
    "rnn, halves, backward": network("RNN", 9, 33, 70, direction="BACKWARD", data_type="FLOAT16"),
    "rnn of one unit": network("RNN", 80, 64, 1),
    "lstm of two units": network("LSTM", 2, 3, 2),
    "gru": network("GRU", 1, 32, 64),
    "gru, reset first": network("GRU", 17, 20, 48, LinearBeforeReset=False),
    "gru, both ways": network("GRU", 5, 31, 37, direction="BIDIRECTIONAL"),
    "gru, reset first, both ways": network(
        "GRU", 3, 31, 37, direction="BIDIRECTIONAL", LinearBeforeReset=False, data_type="FLOAT16"
    ),
    "lstm": network("LSTM", 1, 32, 64, without=(*OPTIONAL, "PeepholeTensor", "CellMemInitTensor")),
    "lstm, all there": network("LSTM", 4, 36, 40, direction="BIDIRECTIONAL"),
    "lstm, cut and coupled": network(
        "LSTM", 12, 20, 33, direction="BACKWARD", UseClipThreshold=True, CoupleInputForget=True
    ),
    "lstm, halves": network("LSTM", 32, 64, 64, data_type="FLOAT16", without=("OutputSequenceTensor",)),
    "lstm, no last state": network("LSTM", 7, 16, 52, without=("OutputSingleTensor", *OPTIONAL)),
    "lstm, one step": network("LSTM", 40, 16, 52, steps=1),
}  # fmt: skip
HALVES = {
    "rnn": network("RNN", 17, 40, 64, data_type="FLOAT16"),
    "rnn, both ways, many": network("RNN", 70, 24, 40, direction="BIDIRECTIONAL", data_type="FLOAT16"),
    "gru": network("GRU", 20, 32, 168, data_type="FLOAT16"),
    "gru, reset first, both ways": network(
        "GRU", 9, 24, 40, direction="BIDIRECTIONAL", LinearBeforeReset=False, data_type="FLOAT16"
    ),
    "lstm, all there": network("LSTM", 12, 8, 136, direction="BIDIRECTIONAL", data_type="FLOAT16"),
    "lstm, halves": CASES["lstm, halves"],
    "lstm, tiles for steps alone": network("LSTM", 32, 60, 64, data_type="FLOAT16"),
    "lstm, cut and coupled": network(
        "LSTM", 33, 16, 48, direction="BACKWARD", UseClipThreshold=True, CoupleInputForget=True,
        data_type="FLOAT16",
    ),
}  # fmt: skip


def described(name: str, cases: dict[str, Any] = CASES) -> Any:
    return made(cases[name], name.partition(",")[0].partition(" ")[0].upper())


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


def dispatches(desc: Any) -> int:
    """Those of intermediate tensors; each output takes another one."""
    outputs = sum(getattr(desc, one.name) is not None for one in desc.MEMBERS if one.role == "output")
    return len(gpu.plan(desc).dispatches) - outputs


def test_a_step_takes_one_dispatch() -> None:
    """But a GRU that resets before the product takes two; the input takes another one."""
    for name in CASES:
        desc = described(name)
        steps = desc.InputTensor.Sizes[1] + 1
        each = 2 if "reset first" in name else 1
        assert dispatches(desc) == 1 + each * steps, name


def test_later_steps_have_the_same_constants() -> None:
    """So that they stay in a device's cache if dispatches share them."""
    for name in CASES:
        found = gpu.plan(described(name)).dispatches
        steps = {(one.defines["PASS"], one.constants) for one in found if "SUM_ROWS" in one.defines}
        assert len(steps) == (5 if "reset first" in name else 3), name  # the input, and the first step


@pytest.mark.parametrize(
    ("cases", "name", "check"),
    [
        *((CASES, name, check_results) for name in CASES),
        *((HALVES, name, check_cooperative) for name in HALVES),
    ],
)
def test_networks_give_what_the_reference_gives(cases: Any, name: str, check: Any, device: Any) -> None:
    desc = described(name, cases)
    check(device, desc, inputs_of(desc))


@pytest.mark.parametrize("name", ["lstm, all there", "gru, reset first", "rnn"])
def test_any_strides(name: str, device: Any) -> None:
    desc = described(name)
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
    desc = described("lstm, all there", cases)
    inputs = inputs_of(desc)
    inputs["SequenceLengthsTensor"][:] = 3
    inputs["InputTensor"][0, 1, 2, 5] = value
    found = check(device, desc, inputs)["OutputSequenceTensor"]
    assert np.isfinite(np.delete(found, 2, 2)).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SUMS_ROWS", 1), ("SUMS_ROWS", 16), ("SUMS_GROUPS", 1), ("SUMS_AHEAD", 1), ("SUMS_OWN", 16),
    ],
)  # fmt: skip
def test_whatever_groups_share(name: str, value: int, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, name, value)
    for case in ("rnn, both ways, many", "gru, reset first", "lstm, all there"):
        desc = described(case)
        check_results(device, desc, inputs_of(desc))


def by_units(desc: Any) -> list[int]:
    """The dispatches that take cooperative matrices."""
    return [int("COOPERATIVE_MATRIX" in step.defines) for step in gpu.plan(desc, COOPERATIVE).dispatches]


@pytest.mark.parametrize("tile", sums.sums_candidates())
def test_any_matrices_give_the_same(tile: Tile, device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "sums_candidates", lambda: [tile])
    for name in ("rnn, both ways, many", "gru", "lstm, all there"):
        desc = described(name, HALVES)
        check_cooperative(device, desc, inputs_of(desc))


def test_what_is_for_cooperative_matrix() -> None:
    """Float16 in whole vectors of eight, for several sequences."""
    lstm = HALVES["lstm, halves"]
    assert by_units(made(lstm, "LSTM")) == [1] * 5 + [0, 0]
    reset_first = by_units(described("gru, reset first, both ways", HALVES))
    assert reset_first == [1] + [1, 1] * 4 + [0, 0]
    assert by_units(described("lstm, tiles for steps alone", HALVES)) == [0] + [1] * 4 + [0] * 3
    apart = made(lstm, "LSTM")
    assert not any(by_units(replace(apart, RecurrenceTensor=spread(apart.RecurrenceTensor)))[1:])
    assert not any(by_units(made(network("LSTM", 32, 64, 64), "LSTM")))
    assert not any(by_units(made(network("LSTM", 1, 64, 64, steps=4, data_type="FLOAT16"), "LSTM")))
