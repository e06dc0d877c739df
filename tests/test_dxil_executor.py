"""The executor of DXIL, on small shaders: what they compute, waves included, and the mistakes it reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dmlops.gpu import compiler
from dxil.execute import Buffer, Mistake, Shaders
from dxil.text import Untranslatable, parts, real, typed

GROUP = 8
NAMES = {
    "float16": "float16_t", "float32": "float", "float64": "double", "int32": "int", "uint32": "uint",
    "int64": "int64_t",
}  # fmt: skip
ARGUMENTS = ("-T", "cs_6_2", "-E", "CSMain", "-enable-16bit-types", "-O3")
HEAD = """
StructuredBuffer<{type}> given : register(t0);
RWStructuredBuffer<{type}> found : register(u0);
cbuffer Params : register(b0) {{ uint count; uint other; }};
groupshared {type} held[8];
"""
MAIN = """
[numthreads(8, 1, 1)]
void CSMain(uint3 id : SV_DispatchThreadID, uint thread : SV_GroupIndex, uint3 group : SV_GroupID)
"""


def run(
    body: str,
    given: Any,
    *,
    size: int | None = None,
    groups: int = 1,
    lanes: int = 32,
    is_loose: bool = False,
) -> np.ndarray:
    """`found` after a shader of this body, in both orders; the constants are the length of `given` and 3."""
    array = np.ascontiguousarray(given)
    text = HEAD.format(type=NAMES[array.dtype.name]) + MAIN + "{" + body + "}"
    made = Shaders([compiler.find().compile(text, ARGUMENTS)])
    constants = np.array([array.size, 3, 0, 0], np.uint32).tobytes()
    results = []
    for downwards in (False, True):
        output = np.zeros(array.size if size is None else size, array.dtype)
        written = np.zeros(output.nbytes, np.uint8)
        reads, writes = [Buffer(array.view(np.uint8))], [Buffer(output.view(np.uint8), written)]
        made.run(
            0, constants, reads, writes, (groups, 1, 1), is_loose=is_loose, downwards=downwards, lanes=lanes
        )
        results.append(output)
    assert results[0].tobytes() == results[1].tobytes()
    return results[0]


INTEGERS = np.array([0, 1, 7, -8, 2**31 - 1, -(2**31), 12345, -777], np.int32)


def test_integers() -> None:
    body = """
        const int x = given[thread];
        found[thread] = ((x >> 3) ^ (int)((uint)x >> 5)) + x * 3 - (x / 7) * (x % 5) + (int)countbits((uint)x)
            + (int)firstbithigh((uint)x) + (int)firstbitlow((uint)x) + max(x, 5) + min(x, -5)
            + (int)reversebits((uint)x);
    """
    expected = []
    for x in map(int, INTEGERS):
        u, quotient = x % 2**32, abs(x) // 7 * (1 if x >= 0 else -1)
        remainder = abs(x) % 5 * (1 if x >= 0 else -1)
        low = (u & -u).bit_length() - 1 if u else -1
        reversed_ = int(f"{u:032b}"[::-1], 2)
        total = (
            ((x >> 3) ^ (u >> 5)) + x * 3 - quotient * remainder + u.bit_count() + (u.bit_length() - 1) + low
        )
        expected.append(total + max(x, 5) + min(x, -5) + reversed_)
    assert (run(body, INTEGERS).astype(np.int64) % 2**32 == np.array(expected) % 2**32).all()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floats(dtype: Any) -> None:
    x = np.array([0.5, -0.0, 1.75, -3.5, 1e2, -1e-3, -np.inf, np.nan], dtype)
    name = "double" if dtype == np.float64 else "float"
    body = f"const {name} x = given[thread]; found[thread] = x > 1 ? x * x - x / 3 : x < -1 ? -x : x + 2;"
    wide = x.astype(np.float64 if dtype == np.float64 else np.float32)
    with np.errstate(all="ignore"):
        expected = np.where(x > 1, wide * wide - wide / 3, np.where(x < -1, -wide, wide + 2)).astype(dtype)
    assert np.allclose(run(body, x), expected, rtol=4 * float(np.finfo(dtype).eps), equal_nan=True)


def test_conversions_saturate_as_direct3d_has_it() -> None:
    x = np.array([1.9, -1.9, 1e20, -1e20, np.nan, np.inf, -np.inf, 3e9], np.float32)
    body = "found[thread] = asfloat((int)given[thread]);"
    expected = [1, -1, 2**31 - 1, -(2**31), 0, 2**31 - 1, -(2**31), 2**31 - 1]
    assert run(body, x).view(np.int32).tolist() == expected


def test_branches_loops_and_switches() -> None:
    body = """
        int sum = 0;
        [loop] for (int i = 0; i < given[thread] % 100; i++) { if (i == 50) break; sum += i; }
        [branch] switch (thread)
        {
            case 1: sum = given[0]; break;
            case 2: case 5: sum = -sum; break;
            default: sum += 1;
        }
        found[thread] = sum;
    """
    expected = [sum(range(min(max(int(np.fmod(x, 100)), 0), 50))) for x in INTEGERS.astype(float)]
    expected = [INTEGERS[0] if i == 1 else -x if i in (2, 5) else x + 1 for i, x in enumerate(expected)]
    assert run(body, INTEGERS).tolist() == expected


def test_group_memory_and_barriers() -> None:
    body = """
        held[thread] = given[id.x];
        [unroll] for (uint step = 1; step < 8; step *= 2)
        {
            GroupMemoryBarrierWithGroupSync();
            const float other = held[thread ^ step];
            GroupMemoryBarrierWithGroupSync();
            held[thread] += other;
        }
        found[id.x] = held[thread];
    """
    x = np.arange(24, dtype=np.float32)
    assert run(body, x, groups=3).tolist() == np.repeat(x.reshape(3, 8).sum(1), 8).tolist()


def test_atomic_operations() -> None:
    body = """
        int before;
        if (thread == 0) { held[0] = 0; held[1] = 2147483647; held[2] = 7; }
        GroupMemoryBarrierWithGroupSync();
        InterlockedAdd(held[0], given[thread]);
        InterlockedMin(held[1], given[thread], before);
        InterlockedCompareExchange(held[2], 7, 100, before);
        GroupMemoryBarrierWithGroupSync();
        if (thread < 3) found[thread] = held[thread];
    """
    x = np.array([5, -3, 9, 2, 8, 8, -7, 1], np.int32)
    assert run(body, x, size=3).tolist() == [x.sum(), x.min(), 100]


# Waves

WAVES = {
    "WaveActiveSum(x)": lambda x: [sum(x)] * len(x),
    "WaveActiveMax(x)": lambda x: [max(x)] * len(x),
    "WaveActiveMin(x)": lambda x: [min(x)] * len(x),
    "WavePrefixSum(x)": lambda x: [sum(x[:i]) for i in range(len(x))],
    "WaveReadLaneAt(x, WaveGetLaneCount() - 1 - WaveGetLaneIndex())": lambda x: x[::-1],
    "WaveReadLaneFirst(x)": lambda x: x[:1] * len(x),
    "WaveIsFirstLane() ? x : 0": lambda x: x[:1] + [0] * (len(x) - 1),
    "WavePrefixCountBits(x > 2) + 10 * WaveActiveCountBits(x > 2)": lambda x: [
        sum(one > 2 for one in x[:i]) + 10 * sum(one > 2 for one in x) for i in range(len(x))
    ],
    "WaveActiveAnyTrue(x > 20) ? 1 : WaveActiveAllTrue(x > 1) ? 2 : 3 + WaveActiveAllEqual(x)": lambda x: [
        1 if max(x) > 20 else 2 if min(x) > 1 else 3 + (min(x) == max(x))
    ] * len(x),
}  # fmt: skip


@pytest.mark.parametrize("lanes", [4, 8, 32])
@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.float32, np.int64, np.float64])
def test_wave_operations(dtype: Any, lanes: int) -> None:
    x = np.array([3, 1, 4, 1, 5, 9, 2, 6], dtype)
    for call, oracle in WAVES.items():
        own = f"{call.replace('WaveGetLaneCount()', str(min(lanes, GROUP)))}"
        waves = x.reshape(-1, min(lanes, GROUP)).tolist()
        expected = [one for wave in waves for one in oracle(wave)]
        name = x.dtype.name.replace("32", "").replace("float64", "double") + (
            "_t" if "int64" in x.dtype.name else ""
        )
        found = run(f"const {name} x = given[thread]; found[thread] = ({name})({own});", x, lanes=lanes)
        assert found.tolist() == expected, call


def test_bits_of_waves() -> None:
    x = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.uint32)
    body = """
        const uint x = given[thread];
        const uint4 ballot = WaveActiveBallot(x > 2);
        const uint both = WaveActiveBitAnd(x | 16) + WaveActiveBitOr(x);
        found[thread] = ballot.x << 24 | both << 8 | WaveActiveBitXor(x);
    """
    ballot = sum(1 << i for i, one in enumerate(x.tolist()) if one > 2)
    both = np.bitwise_and.reduce(x | 16) + np.bitwise_or.reduce(x)
    assert run(body, x).tolist() == [ballot << 24 | int(both) << 8 | int(np.bitwise_xor.reduce(x))] * 8


def test_lanes_of_a_branch_meet_apart_and_are_together_behind_it() -> None:
    x = np.arange(8, dtype=np.int32)
    body = """
        int sum = 1000;
        [branch] if (thread % 2) sum = WaveActiveSum(given[thread]);
        found[thread] = sum + 10000 * WaveActiveCountBits(true);
    """
    assert run(body, x).tolist() == [80016 if i % 2 else 81000 for i in range(8)]


# Mistakes

MISTAKES = {
    "a load beyond a buffer": ("found[thread] = given[thread + 1];", "load of bytes 32 to 36 of a buffer"),
    "a store beyond a buffer": ("found[thread * 2] = 1;", "store of bytes 32 to 36 of a buffer of 32"),
    "a read of what nobody wrote": ("found[thread] = found[(thread + 1) % 8] + 1;", "nobody has written"),
    "an index beyond group memory": (
        "held[thread] = 0; GroupMemoryBarrierWithGroupSync(); found[thread] = held[thread + other];",
        "an element beyond the end of an array",
    ),
    "an index beyond an array": (
        "int own[4]; for (uint i = 0; i < 4; i++) own[i] = given[i]; found[thread] = own[thread] + own[0];",
        "an element beyond the end of an array",
    ),
    "a division by zero": ("found[thread] = given[thread] / (int)(other - 3 + thread);", "division by zero"),
    "a barrier in a branch": (
        "if (given[thread] > 2) GroupMemoryBarrierWithGroupSync(); found[thread] = 1;",
        "not at the barrier where thread 0 is",
    ),
    "a read of a lane that is not active": (
        "int x = 0; if (thread < 4) x = WaveReadLaneAt(given[thread], 5); found[thread] = x;",
        "lane 5, which is not active",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_reported(mistake: str) -> None:
    body, message = MISTAKES[mistake]
    with pytest.raises(Mistake, match=message):
        run(body, np.arange(8, dtype=np.int32))


DIFFER = {
    "a race for memory": "held[0] = (int)thread; GroupMemoryBarrierWithGroupSync(); found[thread] = held[0];",
    "no barrier": "held[thread] = given[thread]; found[thread] = held[(thread + 1) % 8];",
    "a race of groups": "found[thread] = (int)group.x;",
    "group memory that nobody wrote": "if (thread > 0) held[thread] = 1; found[thread] = held[thread];",
}


@pytest.mark.parametrize("mistake", DIFFER)
def test_what_depends_on_the_order_of_threads_differs(mistake: str) -> None:
    with pytest.raises(AssertionError):
        run(DIFFER[mistake], np.arange(8, dtype=np.int32), groups=2)


# What DXIL leaves open


@pytest.mark.parametrize("is_loose", [False, True])
def test_what_is_precise_is_kept_in_its_order(is_loose: bool) -> None:
    x = np.array([0.25, 1.5, 2.75, -3.25, 100.125, 0, 7.875, -1], np.float32)
    body = """
        precise float sum = (given[thread] + 12582912.0f) - 12582912.0f;
        found[thread] = given[thread] - sum;
    """
    assert run(body, x, is_loose=is_loose).tolist() == (x - np.rint(x)).tolist()


def test_what_is_fast_is_left_to_the_compiler() -> None:
    x = np.array([1 + 2.0**-12, 1 - 2.0**-12, 3, 5, 7, 9, 11, 13], np.float32)
    body = "found[thread] = given[thread] * given[thread] - given[2];"
    twice, once = x * x - x[2], (x.astype(np.float64) ** 2 - x[2]).astype(np.float32)
    assert run(body, x).tolist() == twice.tolist()
    assert run(body, x, is_loose=True).tolist() == once.tolist()


def test_products_are_rounded_twice_or_fused() -> None:
    x = np.array([1 + 2.0**-12, 1 - 2.0**-12, 3, 5, 7, 9, 11, 13], np.float32)
    body = "precise float sum = mad(given[thread], given[thread], -1.0f); found[thread] = sum;"
    twice, once = x * x - np.float32(1), (x.astype(np.float64) ** 2 - 1).astype(np.float32)
    assert (twice != once).any()
    assert run(body, x).tolist() == twice.tolist()
    assert run(body, x, is_loose=True).tolist() == once.tolist()


# Texts


def test_texts_of_llvm() -> None:
    assert parts('i32 1, [2 x i32] [i32 3, i32 4], !"a,b", { i32, i1 } %5') == [
        "i32 1", "[2 x i32] [i32 3, i32 4]", '!"a,b"', "{ i32, i1 } %5",
    ]  # fmt: skip
    assert typed("[4 x float] addrspace(3)* @held") == ("*", "@held")
    assert typed("%dx.types.ResRet.f32 %7") == ("%dx.types.ResRet.f32", "%7")
    assert real("float", "0x3FB99999A0000000") == "((float)0x1.99999a0000000p-4)"
    assert real("half", "0xH3C00") == "((half)0x1.0000000000000p+0)"
    assert real("double", "0x7FF0000000000000") == "((double)INFINITY)"


def test_what_is_not_known_is_named() -> None:
    with pytest.raises(Untranslatable, match="quadOp"):
        run("found[thread] = QuadReadAcrossX(given[thread]);", np.arange(8, dtype=np.int32))
