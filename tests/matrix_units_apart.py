"""Matrix units in ordinary arithmetic, for drivers that have none: the same shader, its matrices taken apart.

A wave is 32 threads in a row. Its factors stay in group memory, where threads read them as they multiply;
each thread has eight sums of a matrix.
"""

from __future__ import annotations

import re

INSTEAD = """
struct Referred
{
    uint at, layout, pitch;
};

struct SumMatrix
{
    float sums[8];
};

typedef Referred LeftMatrix;
typedef Referred RightMatrix;
groupshared uint4 tiles[TILES];
static uint threadOfGroup;
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

SumMatrix MultiplyAdd(Referred left, Referred right, SumMatrix sum)
{
    const uint row = threadOfGroup % 32 / 2, column = threadOfGroup % 2 * 8;
    [loop]
    for (uint k = 0; k < 16; k++)
        for (uint e = 0; e < 8; e++)
            sum.sums[e] += HalfAt(left, row, k) * HalfAt(right, k, column + e);
    return sum;
}

Referred Refer(uint at, uint layout, uint pitch, uint operands)
{
    const Referred matrix = { at, layout, pitch };
    return matrix;
}

void StoreSums(uint at, SumMatrix sum, uint layout, uint pitch, uint operands)
{
    const uint row = threadOfGroup % 32 / 2, column = threadOfGroup % 2 * 8;
    for (uint e = 0; e < 8; e++)
        tiles[at + row * pitch + (column + e) / 4][e % 4] = asuint(sum.sums[e]);
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
    begin, end = (
        shader.find("// Matrices of a wave"),
        shader.find("static const uint leftAcross = LEFT_ALONG"),
    )
    assert size and begin < end < size.start()
    bounds = shader[end : size.start()]
    constants = "\n".join(re.findall(r"^static const uint .*$", bounds, re.MULTILINE))
    functions = re.sub(r"^static const uint .*\n", "", bounds, flags=re.MULTILINE)
    text = shader[:begin] + constants + INSTEAD.replace("TILES", size[1]) + functions + shader[size.end() :]
    text = re.sub(r"(LoadShared|StoreShared|StoreSums)\(tiles\[(.*?)\], ", r"\1(\2, ", text)
    text = re.sub(r"Load(?:Left|Right)\(tiles\[(.*?)\], ", r"Refer(\1, ", text)
    text = re.sub(r"\[\[vk::ext_(extension|capability)\(.*?\)\]\].*\n", "", text)
    text = re.sub(r"\bwave\b(?= [/%*])", "(thread / 32)", text).replace("WaveGetLaneIndex()", "thread % 32")
    return text.replace("    Contract(group", "    threadOfGroup = thread;\n    Contract(group")
