"""Matrix units in ordinary arithmetic, for drivers that have none: the same shader, its matrices taken apart.

A wave is 32 threads in a row. Of a left factor each thread has the row that it multiplies; right factors
stay in group memory, where threads read them as they multiply. Each thread has eight sums of a matrix.
"""

from __future__ import annotations

import re

INSTEAD = """
struct Referred
{
    uint at, layout, pitch;
};

struct LeftMatrix
{
    float row[16];
};

struct SumMatrix
{
    float sums[8];
};

typedef Referred RightMatrix;
typedef SumMatrix HalfMatrix;
groupshared uint4 tiles[TILES];
groupshared uint votes;
#define NON_PRIVATE 0
#define ControlBarrier(waiting, exchanging, semantics) GroupMemoryBarrierWithGroupSync()

float HalfAt(Referred matrix, uint row, uint column)
{
    const uint2 place = matrix.layout ? uint2(column, row) : uint2(row, column);
    const uint word = tiles[matrix.at + place.x * matrix.pitch + place.y / 8][place.y / 2 % 4];
    return f16tof32(word >> (place.y % 2 * 16));
}

SumMatrix Filled(float entry)
{
    SumMatrix sum;
    for (uint e = 0; e < 8; e++)
        sum.sums[e] = entry;
    return sum;
}

SumMatrix MultiplyAdd(LeftMatrix left, Referred right, SumMatrix sum)
{
    const uint column = threadOfGroup % 2 * 8;
    [loop]
    for (uint k = 0; k < 16; k++)
        for (uint e = 0; e < 8; e++)
            sum.sums[e] += left.row[k] * HalfAt(right, k, column + e);
    return sum;
}

Referred LoadRight(uint at, uint layout, uint pitch, uint operands)
{
    const Referred matrix = { at, layout, pitch };
    return matrix;
}

LeftMatrix LoadLeft(uint at, uint layout, uint pitch, uint operands)
{
    const Referred matrix = { at, layout, pitch };
    LeftMatrix left;
    [loop]
    for (uint k = 0; k < 16; k++)
        left.row[k] = HalfAt(matrix, threadOfGroup % 32 / 2, k);
    return left;
}

SumMatrix LoadSums(uint at, uint layout, uint pitch, uint operands)
{
    const uint row = threadOfGroup % 32 / 2, column = threadOfGroup % 2 * 8;
    SumMatrix sum;
    for (uint e = 0; e < 8; e++)
        sum.sums[e] = asfloat(tiles[at + row * pitch + (column + e) / 4][e % 4]);
    return sum;
}

void StoreSums(uint at, SumMatrix sum, uint layout, uint pitch, uint operands)
{
    const uint row = threadOfGroup % 32 / 2, column = threadOfGroup % 2 * 8;
    for (uint e = 0; e < 8; e++)
    {
        const uint2 place = layout ? uint2(column + e, row) : uint2(row, column + e);
        tiles[at + place.x * pitch + place.y / 4][place.y % 4] = asuint(sum.sums[e]);
    }
}

SumMatrix Narrowed(SumMatrix sum)
{
    for (uint e = 0; e < 8; e++)
        sum.sums[e] = f16tof32(f32tof16(sum.sums[e]));
    return sum;
}

void StoreHalves(uint at, SumMatrix halves, uint layout, uint pitch, uint operands)
{
    const uint row = threadOfGroup % 32 / 2, column = threadOfGroup % 2;
    for (uint e = 0; e < 4; e++)
        tiles[at + row * pitch + column][e] =
            f32tof16(halves.sums[e * 2]) | f32tof16(halves.sums[e * 2 + 1]) << 16;
}

float Extracted(SumMatrix sum, uint number)
{
    return sum.sums[number];
}

SumMatrix Inserted(float entry, SumMatrix sum, uint number)
{
    sum.sums[number] = entry;
    return sum;
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

uint4 LoadShared(uint at, uint operands)
{
    return tiles[at];
}

void StoreShared(uint at, uint4 eight, uint operands)
{
    tiles[at] = eight;
}
"""


def taken_apart(shader: str) -> str:
    """A shader with ordinary arithmetic in place of matrix units."""
    size = re.search(r"groupshared uint4 tiles\[(.*?)\];\n", shader)
    assert size
    begin = shader.index("// Matrices of a wave")
    end = shader.index("\n", shader.rindex("[[vk::ext_", begin, size.start()))
    between = shader[end : size.start()]
    instead = INSTEAD.replace("TILES", size[1])
    text = "static uint threadOfGroup;\n" + shader[:begin] + between + instead + shader[size.end() :]
    text = re.sub(r"((?:Load|Store)\w+)\(tiles\[(.*?)\], ", r"\1(\2, ", text)
    text = re.sub(r"\[\[vk::ext_(extension|capability)\(.*?\)\]\].*\n", "", text)
    text = re.sub(r"\bwave\b(?= [/%*])", "(thread / 32)", text).replace("WaveGetLaneIndex()", "thread % 32")
    text = text.replace("WaveActiveAnyTrue", "AnyOfGroup")
    return re.sub(r"\n    ((?:Contract|Attend|AddUp)\(group)", r"\n    threadOfGroup = thread;\n    \1", text)
