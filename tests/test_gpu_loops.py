"""Sums with more terms than a software driver lets a thread add up: right or rejected, never wrong."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from dmlops import TensorDesc, gpu, make
from dmlops.gpu import compiler
from gpu_device import WITH_LOOP_TEST, device, is_software
from tensors import of

__all__ = ["device"]

MOST = 65535  # iterations of all loops of a thread, in Mesa's drivers for CPUs
LONG = MOST + 4465


@pytest.fixture(autouse=True)
def loops_are_tested(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "with_loop_test", WITH_LOOP_TEST)


class Case(NamedTuple):
    """A description whose inputs are all 1, apart from values that are given, and what it gives."""

    desc: Any
    expected: Any
    values: np.ndarray | None = None


def ones(*sizes: int) -> TensorDesc:
    return of("FLOAT32", *sizes)


def integers(channels: int) -> Case:
    """One thread adds up the products."""
    left, right = (of("UINT8", 1, channels, 13, 13) for _ in range(2))
    return Case(make.convolution_integer(left, right), channels * 13 * 13)


PAST = ones(1, LONG, 8)
CASES = {
    "window": Case(make.average_pooling(ones(1, 1, 280, 280), WindowSize=[280, 280], IncludePadding=True), 1),
    "product": Case(make.gemm(ones(1, 1, 2, LONG), ones(1, 1, LONG, 2)), LONG),
    "reduced": Case(make.reduce(ones(1, 1, 2, LONG), Function="SUM", Axes=[3]), LONG),
    "across": Case(make.reduce(ones(1, 1, LONG, 2), Function="SUM", Axes=[2]), LONG),
    "scanned": Case(
        make.cumulative_summation(
            ones(1, 1, 1, LONG), Axis=3, AxisDirection="INCREASING", HasExclusiveSum=False
        ),
        np.arange(1, LONG + 1),
    ),
    "normalized": Case(make.activation_softmax1(ones(1, 1, 1, LONG), Axes=[3]), 1 / LONG),
    "attention": Case(
        make.multihead_attention(
            ones(1, 1, 8), PAST, PAST, Scale=1.0, MaskFilterValue=0.0, HeadCount=1, MaskType="NONE"
        ),
        1,
        np.linspace(0, 2, LONG).reshape(1, LONG, 1),
    ),
}
REFUSED = {
    "integers": integers(512),
    "neighbors": Case(  # one thread adds up the squares around an element: four, times Alpha / LocalSize
        make.local_response_normalization(
            ones(1, 1, 2, 2), CrossChannel=False, LocalSize=301, Alpha=301.0, Beta=1.0, Bias=0.0
        ),
        1 / 4,
    ),
}


def check(device: Any, case: Case) -> None:
    inputs = {}
    for member in case.desc.MEMBERS:
        tensor = getattr(case.desc, member.name)
        if member.role == "input" and tensor is not None:
            inputs[member.name] = np.ones(tensor.Sizes, tensor.DataType.numpy)
    if case.values is not None:
        inputs["ValueTensor"] *= case.values.astype(np.float32)
    found = gpu.run(case.desc, inputs, device)["OutputTensor"]
    np.testing.assert_allclose(found, np.broadcast_to(case.expected, found.shape), rtol=1e-4)


@pytest.mark.parametrize("name", CASES)
def test_long_sums_are_right_or_refused(name: str, device: Any) -> None:
    try:
        check(device, CASES[name])
    except gpu.Unsupported as error:
        assert is_software(device) and "65,535" in str(error)


@pytest.mark.parametrize("name", REFUSED)
def test_a_software_driver_refuses_what_it_would_end_early(name: str, device: Any) -> None:
    """And nothing of the next call."""
    if is_software(device):
        with pytest.raises(gpu.Unsupported, match="ends all loops of a thread after 65,535 iterations"):
            check(device, REFUSED[name])
    else:
        check(device, REFUSED[name])
    check(device, integers(380))
