"""Cooperative matrices in ordinary arithmetic, for drivers that have none: the same shader, matrices lowered.

A wave is 32 consecutive threads. Each thread holds eight sums of a matrix and eight entries of a left factor,
in the positions where NVIDIA's cooperative matrices hold them; four threads share two rows. Right factors
and those of bytes stay in group memory, where threads read them as they multiply.
"""

from __future__ import annotations

import re
from functools import cache

INSTEAD = """
struct Referred
{
    uint at, layout, pitch;
};

struct SumMatrix
{
    NUMBER sums[8];
};

typedef Referred RightMatrix;
groupshared uint4 tiles[TILES];
groupshared uint votes;
#define wave (threadOfGroup / 32)
#define NON_PRIVATE 0
#define PLACED(number) LEFT_ENTRY
#define ControlBarrier(waiting, exchanging, semantics) GroupMemoryBarrierWithGroupSync()
#define LoadShared(from, operands) from
#define StoreShared(to, eight, operands) to = eight
#define StoreWord(to, word, operands) to = word
#define LoadWord(from, operands) from
#define Anew(from, scope) AtomicLoad(from, scope, 0)
#define LoadVisible(from, operands, scope) \\
    uint4(Anew(from.x, scope), Anew(from.y, scope), Anew(from.z, scope), Anew(from.w, scope))

uint2 PlaceOfEntry(uint number)
{
    const uint row = threadOfGroup % 32 / 4 + number / 4 * 8;
    return uint2(row, threadOfGroup % 4 * 2 + number % 2 + number / 2 % 2 * 8);
}

SumMatrix Filled(NUMBER entry)
{
    SumMatrix sum;
    for (uint e = 0; e < 8; e++)
        sum.sums[e] = entry;
    return sum;
}

Referred LoadRight(uint at, uint layout, uint pitch, uint operands)
{
    const Referred matrix = { at, layout, pitch };
    return matrix;
}

void StoreSums(uint at, SumMatrix sum, uint layout, uint pitch, uint operands)
{
    for (uint e = 0; e < 8; e++)
    {
        const uint2 own = PlaceOfEntry(e), place = layout ? own.yx : own;
        tiles[at + place.x * pitch + place.y / 4][place.y % 4] = asuint(sum.sums[e]);
    }
}

// Barriers are those of the group, so that waves must do the same.
bool AnyOfGroup(bool own)
{
    if (threadOfGroup == 0)
        votes = 0;
    GroupMemoryBarrierWithGroupSync();
    if (own)
        InterlockedOr(votes, 1);
    GroupMemoryBarrierWithGroupSync();
    const bool found = votes != 0;
    GroupMemoryBarrierWithGroupSync();
    return found;
}
"""

HALVES = """
typedef SumMatrix LeftMatrix;
#define FilledLeft Filled
#define InsertedLeft Inserted
#define Extracted(matrix, number) (matrix).sums[number]
#define ExtractedLeft(matrix, number) ((float16_t)(matrix).sums[number])

float HalfAt(Referred matrix, uint row, uint column)
{
    const uint2 place = matrix.layout ? uint2(column, row) : uint2(row, column);
    const uint word = tiles[matrix.at + place.x * matrix.pitch + place.y / 8][place.y / 2 % 4];
    return f16tof32(word >> (place.y % 2 * 16));
}

SumMatrix MultiplyAdd(LeftMatrix left, Referred right, SumMatrix sum)
{
    for (uint k = 0; k < 16; k++)
        for (uint half = 0; half < 2; half++)
        {
            const uint neighbor = (threadOfGroup & ~3) + k % 8 / 2;
            const float own = left.sums[PLACED(k % 2 + k / 8 * 2 + half * 4)];
            const float factor = WaveReadLaneAt(own, neighbor % WaveGetLaneCount());
            for (uint e = 0; e < 8; e++)
                if (e / 4 == half)
                    sum.sums[e] += factor * HalfAt(right, k, PlaceOfEntry(e).y);
        }
    return sum;
}

LeftMatrix LoadLeft(uint at, uint layout, uint pitch, uint operands)
{
    const Referred matrix = { at, layout, pitch };
    LeftMatrix left;
    for (uint e = 0; e < 8; e++)
        left.sums[PLACED(e)] = HalfAt(matrix, PlaceOfEntry(e).x, PlaceOfEntry(e).y);
    return left;
}

SumMatrix LoadSums(uint at, uint layout, uint pitch, uint operands)
{
    SumMatrix sum;
    for (uint e = 0; e < 8; e++)
    {
        const uint2 place = PlaceOfEntry(e);
        sum.sums[e] = asfloat(tiles[at + place.x * pitch + place.y / 4][place.y % 4]);
    }
    return sum;
}

SumMatrix Inserted(float entry, SumMatrix matrix, uint number)
{
    matrix.sums[number] = entry;
    return matrix;
}
"""

BYTES = """
typedef Referred LeftMatrix;
#define LoadLeft LoadRight

int ByteAt(Referred matrix, uint row, uint column)
{
    const uint2 place = matrix.layout ? uint2(column, row) : uint2(row, column);
    const uint word = tiles[matrix.at + place.x * matrix.pitch + place.y / 16][place.y / 4 % 4];
    return (int)(word << (24 - place.y % 4 * 8)) >> 24;
}

SumMatrix MultiplyAddSigned(LeftMatrix left, RightMatrix right, SumMatrix sum, uint signs)
{
    for (uint k = 0; k < 32; k++)
        for (uint e = 0; e < 8; e++)
            sum.sums[e] += ByteAt(left, PlaceOfEntry(e).x, k) * ByteAt(right, k, PlaceOfEntry(e).y);
    return sum;
}
"""


@cache
def taken_apart(shader: str, is_alike: bool = True) -> str:
    """A shader with ordinary arithmetic in place of cooperative matrices; `is_alike` says whether a thread
    has the entries of a left factor in the order in which it has those of sums."""
    size = re.search(r"groupshared uint4 tiles\[(.*?)\];\n", shader)
    assert size
    begin = shader.index("typedef vk::integral_constant<uint, 16> Sixteen;")
    end = shader.index("\n", shader.rindex("[[vk::ext_", begin, size.start()))
    between = shader[end : size.start()]
    entry = "(number)" if is_alike else "(7 - (number))"
    of_bytes = "MultiplyAddSigned" in shader
    instead = INSTEAD + (BYTES if of_bytes else HALVES)
    instead = instead.replace("TILES", size[1]).replace("NUMBER", "int" if of_bytes else "float")
    instead = instead.replace("LEFT_ENTRY", entry)
    instead = f"#if COOPERATIVE_MATRIX\n{instead}#else\n{size[0]}#endif\n"  # other passes keep their own
    text = "static uint threadOfGroup;\n" + shader[:begin] + between + instead + shader[size.end() :]
    text = text.replace("#define OF_DEVICE 5", "#define OF_DEVICE 1")
    text = re.sub(r"#define (AVAILABLE|VISIBLE) 0x.*", r"#define \1 0", text)
    text = re.sub(r"((?:Load|Store)(?:Left|Right|Sums))\(\s*tiles\[([^;]*?)\],\s", r"\1(\2, ", text)
    text = re.sub(r"\[\[vk::ext_(extension|capability)\(.*?\)\]\].*\n", "", text)
    text = re.sub(r"= (WaveGetLaneIndex\(\)|WavePrefixCountBits\(true\))", "= thread % 32", text)
    text = text.replace("WaveActiveAnyTrue", "AnyOfGroup")
    text = re.sub(r"(WaveReadLaneAt\([^,]*, other)\)", r"\1 % WaveGetLaneCount())", text)
    # As straight code, it takes DXC twice as long, and Mesa as long again unless it is told to keep loops.
    # Those of products it must unroll: they have more iterations than it runs.
    text = text.replace("[unroll]", "[loop]" if "Attend(" in shader else "")
    begins = r"\n    ((?:Contract|Attend|AddUp)\(\s*group)"
    return re.sub(begins, r"\n    threadOfGroup = thread;\n    \1", text)
