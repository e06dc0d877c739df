"""The functions of DXIL, `dx.op.*`, by the number that is their first argument (docs/DXIL.rst of DXC).

In the C of an operation, {0}, {1} ... are its arguments, $T the type, $F the suffix of C's functions for it,
$U and $S its type as an unsigned and as a signed integer, $B its bits. Halves are computed as floats, then
rounded.
"""

from __future__ import annotations

CREATE_HANDLE, CONSTANTS, BARRIER, SPLIT_DOUBLE = 57, 59, 80, 102
ATOMIC, COMPARE_EXCHANGE, RAW_LOAD, RAW_STORE = 78, 79, 139, 140
MAD, FIRST_LANE, LANES = 46, 110, 112
SYNCHRONISES = 1  # a bit of a barrier's mode

PURE = {
    6: "fabs$F({0})", 7: "fmin$F(fmax$F({0}, 0), 1)", 8: "isnan({0})", 9: "isinf({0})", 10: "isfinite({0})",
    12: "cos$F({0})", 13: "sin$F({0})", 14: "tan$F({0})", 15: "acos$F({0})", 16: "asin$F({0})",
    17: "atan$F({0})", 18: "cosh$F({0})", 19: "sinh$F({0})", 20: "tanh$F({0})", 21: "exp2$F({0})",
    22: "{0} - floor$F({0})",
    23: "log2$F({0})", 24: "sqrt$F({0})", 25: "1 / sqrt$F({0})",
    26: "rint$F({0})", 27: "floor$F({0})", 28: "ceil$F({0})", 29: "trunc$F({0})",
    30: "reverse_bits({0})", 31: "count_bits({0})", 32: "first_low({0})", 33: "first_high({0}, $B)",
    34: "first_high(($S){0} < 0 ? ($U)~{0} : {0}, $B)",
    35: "fmax$F({0}, {1})", 36: "fmin$F({0}, {1})",
    37: "($S){0} > ($S){1} ? {0} : {1}", 38: "($S){0} < ($S){1} ? {0} : {1}",
    39: "{0} > {1} ? {0} : {1}", 40: "{0} < {1} ? {0} : {1}",
    MAD: "mad_$T({0}, {1}, {2})", 47: "fma$F({0}, {1}, {2})",
    56: "{0} * {4} + {1} * {5} + {2} * {6} + {3} * {7}",
    48: "(uint64_t){0} * {1} + {2}", 49: "(uint64_t){0} * {1} + {2}",
    93: "group[{0}] * threads[{0}] + me->in_group[{0}]", 94: "group[{0}]", 95: "me->in_group[{0}]",
    96: "me->number", 101: "double_of({0} | (uint64_t){1} << 32)",
    111: "lane_of(me)", LANES: "lanes",
    130: "bits_of_half((half){0})", 131: "half_of((uint16_t){0})",
    163: "dot_bytes({0}, {1}, {2}, true)", 164: "dot_bytes({0}, {1}, {2}, false)",
}  # fmt: skip

# Lanes meet with {0}, then each computes its result from what all brought; conditions are 0 and 1.
WAVE = {
    FIRST_LANE: "lane_of(me) == first_lane()",
    113: "wave_bit(1)", 114: "wave_all(1)", 115: "wave_all(bits_of_$T({0}))",
    117: "$T_of(wave_lane({1}))", 118: "$T_of(wave_lane(first_lane()))",
    119: "wave_$T(UINT32_MAX, {1}, {2})", 120: "wave_bit({1})", 121: "wave_$T(lane_of(me), {1}, {2})",
    135: "wave_count(UINT32_MAX)", 136: "wave_count(lane_of(me))",
}  # fmt: skip
BALLOT = 116
