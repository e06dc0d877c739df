"""Sums with more terms than a software driver lets a thread add up: right or rejected, never wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from dmlops import TensorDesc, gpu, make
from dmlops.gpu import compiler
from gpu_device import WITH_LOOP_TEST, device, is_software

__all__ = ["device"]

MOST = 65535  # iterations of all loops of a thread, in Mesa's drivers for CPUs
LONG = MOST + 4465


@pytest.fixture(autouse=True)
def loops_are_tested(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "with_loop_test", WITH_LOOP_TEST)


def ones(*sizes: int, of: str = "FLOAT32") -> TensorDesc:
    return TensorDesc(of, sizes)


class Case(NamedTuple):
    """A description whose inputs are all 1, apart from those given, and what it gives."""

    desc: Any
    expected: Any
    given: dict[str, np.ndarray] = {}  # noqa: RUF012


def integers(channels: int) -> Case:
    """One thread adds up the products."""
    left, right = (ones(1, channels, 13, 13, of="UINT8") for _ in range(2))
    return Case(make.convolution_integer(left, right), channels * 13 * 13)


def neighbors(width: int) -> Case:
    """One thread adds up the squares around an element."""
    data = ones(1, 1, 2, 2)
    desc = make.local_response_normalization(
        data, CrossChannel=False, LocalSize=width, Alpha=float(width), Beta=1.0, Bias=0.0
    )
    return Case(desc, 1 / 4)  # four squares, times Alpha / LocalSize


def window() -> Case:
    return Case(make.average_pooling(ones(1, 1, 280, 280), WindowSize=[280, 280], IncludePadding=True), 1)


def product() -> Case:
    return Case(make.gemm(ones(1, 1, 2, LONG), ones(1, 1, LONG, 2)), LONG)


def reduced() -> Case:
    return Case(make.reduce(ones(1, 1, 2, LONG), Function="SUM", Axes=[3]), LONG)


def across() -> Case:
    return Case(make.reduce(ones(1, 1, LONG, 2), Function="SUM", Axes=[2]), LONG)


def scanned() -> Case:
    desc = make.cumulative_summation(
        ones(1, 1, 1, LONG), Axis=3, AxisDirection="INCREASING", HasExclusiveSum=False
    )
    return Case(desc, np.arange(1, LONG + 1, dtype="float32").reshape(1, 1, 1, LONG))


def normalized() -> Case:
    return Case(make.activation_softmax1(ones(1, 1, 1, LONG), Axes=[3]), 1 / LONG)


def attention() -> Case:
    query, past = ones(1, 1, 8), ones(1, LONG, 8)
    desc = make.multihead_attention(
        query, past, past, Scale=1.0, MaskFilterValue=0.0, HeadCount=1, MaskType="NONE"
    )
    values = np.linspace(0, 2, LONG, dtype="float32").reshape(1, LONG, 1) * np.ones((1, 1, 8), "float32")
    return Case(desc, 1, {"ValueTensor": values})


@pytest.mark.parametrize(
    "made", [window, product, reduced, across, scanned, normalized, attention], ids=lambda one: one.__name__
)
def test_long_sums_are_right_or_refused(device: Any, made: Callable[[], Case]) -> None:
    check(device, made(), may_refuse=is_software(device))


@pytest.mark.parametrize(
    "made", [lambda: integers(512), lambda: neighbors(301)], ids=["integers", "neighbors"]
)
def test_a_software_driver_refuses_what_it_would_end_early(device: Any, made: Callable[[], Case]) -> None:
    if is_software(device):
        with pytest.raises(gpu.Unsupported, match="ends all loops of a thread after 65,535 iterations"):
            run(device, made())
    else:
        check(device, made(), may_refuse=False)


def test_the_next_call_is_not_refused(device: Any) -> None:
    if is_software(device):
        with pytest.raises(gpu.Unsupported):
            run(device, integers(512))
    check(device, integers(380), may_refuse=False)


def run(device: Any, case: Case) -> np.ndarray:
    inputs = {}
    for member in case.desc.MEMBERS:
        tensor = getattr(case.desc, member.name)
        if member.role == "input" and tensor is not None:
            inputs[member.name] = case.given.get(
                member.name, np.ones(tensor.Sizes, tensor.DataType.name.lower())
            )
    found: np.ndarray = gpu.run(case.desc, inputs, device)["OutputTensor"]
    return found


def check(device: Any, case: Case, may_refuse: bool) -> None:
    try:
        found = run(device, case)
    except gpu.Unsupported as error:
        assert may_refuse and "65,535" in str(error)
    else:
        np.testing.assert_allclose(found, np.broadcast_to(case.expected, found.shape), rtol=1e-4)
