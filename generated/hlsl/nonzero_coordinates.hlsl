// DML_OPERATOR_NONZERO_COORDINATES: Lists the coordinates of all elements that are not zero, in the order of the elements.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... nonzero_coordinates.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// Three dispatches: how many elements of each block are not zero; how many come before each block, and all together;
// the coordinates, each in the row that its number among them gives, and zeros in the rows that are left.
// Sizes and strides are in elements.
//
// For each tensor, X being OUTPUT_COUNT or INPUT or OUTPUT_COORDINATES:
//   X_STORED   type of an element in its buffer: double, float, float16_t, int64_t, int, int16_t, uint64_t, uint,
//              uint16_t; uint also where a word of 32 bits holds several elements
//   X_BITS     bits of an element: 8, 16, 32
//   X_VALUE    type that elements are computed in: double, float (of float16_t too), int64_t, int, uint64_t or uint
//              of InputTensor, whose elements are taken as bits: uint64_t or uint
//   OutputCountTensor: UINT32
//   InputTensor: FLOAT32, FLOAT16, INT32, INT16, INT8, UINT32, UINT16, UINT8
//   OutputCoordinatesTensor: UINT32
//   STAGE      0 to count in blocks, 1 to add up in place, 2 to write
//   MAGNITUDE  the bits of an element that make it nonzero: all, of floating-point numbers all but the sign
//   RANK       dimensions of InputTensor, 1 to 8
//   ITEMS      elements that a thread goes through, 1 or more; a block has ITEMS * NUM_THREADS
//   NUM_THREADS  threads in a group
//
// Dispatch groupColumns x rows groups, enough for one a block; to add up, one group.

struct Dimension
{
    uint size;        // of InputTensor
    uint multiplier;  // these three divide by size
    uint halving;
    uint shift;
    uint inputStride;
    uint reserved0;
    uint reserved1;
    uint reserved2;
};

[[vk::binding(0, 0)]] StructuredBuffer<INPUT_STORED> inputTensor : register(t0);
[[vk::binding(1, 0)]] RWStructuredBuffer<uint> starts : register(u0);  // one more than there are blocks
[[vk::binding(2, 0)]] RWStructuredBuffer<OUTPUT_COUNT_STORED> outputCountTensor : register(u1);
[[vk::binding(3, 0)]] RWStructuredBuffer<OUTPUT_COORDINATES_STORED> outputCoordinatesTensor : register(u2);
[[vk::binding(4, 0)]] cbuffer Params : register(b0)
{
    uint count;         // elements of InputTensor
    uint groupColumns;  // thread groups along x
    uint blocks;
    uint columns;       // of a row: the last dimensions of the coordinate
    uint rowStride;
    uint columnStride;
    uint2 reserved;
    Dimension dimensions[RANK];  // outermost first
};

#define IDENTITY 0

uint Combine(uint x, uint y) { return x + y; }

groupshared uint totals[NUM_THREADS];

// What the threads before this one have together, and all of them; for every thread of the group at once
void ScanGroup(uint thread, uint own, out uint before, out uint all)
{
    totals[thread] = own;
    GroupMemoryBarrierWithGroupSync();
    [loop]
    for (uint distance = 1; distance < NUM_THREADS; distance *= 2)
    {
        if (thread >= distance)
            own = Combine(totals[thread - distance], own);
        GroupMemoryBarrierWithGroupSync();
        totals[thread] = own;
        GroupMemoryBarrierWithGroupSync();
    }
    before = totals[max(thread, 1) - 1];
    if (thread == 0)
        before = IDENTITY;
    all = totals[NUM_THREADS - 1];
    GroupMemoryBarrierWithGroupSync();
}

#if STAGE == 1
void StoreOutputCount(uint offset, OUTPUT_COUNT_VALUE value)
{
#if OUTPUT_COUNT_BITS < 16
    // Other threads write the other elements of this word.
    const uint perWord = 32 / OUTPUT_COUNT_BITS;
    const uint shift = offset % perWord * OUTPUT_COUNT_BITS;
    const uint mask = (1u << OUTPUT_COUNT_BITS) - 1;
    InterlockedAnd(outputCountTensor[offset / perWord], ~(mask << shift));
    InterlockedOr(outputCountTensor[offset / perWord], ((uint)value & mask) << shift);
#else
    outputCountTensor[offset] = (OUTPUT_COUNT_STORED)value;
#endif
}

[numthreads(NUM_THREADS, 1, 1)]
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    uint running = 0;
    [loop]
    for (uint first = 0; first < blocks; first += NUM_THREADS)
    {
        const uint block = first + thread;
        uint before;
        uint all;
        ScanGroup(thread, block < blocks ? starts[min(block, blocks)] : 0, before, all);
        if (block < blocks)
            starts[block] = running + before;
        running += all;
    }
    if (thread == 0)
    {
        starts[blocks] = running;
        StoreOutputCount(0, running);
    }
}
#else
// n / size for every n below 2^32
uint DivideBySize(uint n, Dimension dimension)
{
    const uint high = (uint)(((uint64_t)n * dimension.multiplier) >> 32);
    return (high + ((n - high) >> dimension.halving)) >> dimension.shift;
}

INPUT_VALUE LoadInput(uint offset)
{
#if INPUT_BITS < 16
    const uint perWord = 32 / INPUT_BITS;
    const uint above = inputTensor[offset / perWord] << ((perWord - 1 - offset % perWord) * INPUT_BITS);
    return (INPUT_VALUE)above >> (32 - INPUT_BITS);
#else
    return (INPUT_VALUE)inputTensor[offset];
#endif
}

bool IsNonzero(uint item)
{
    uint offset = 0;
    [unroll]
    for (int d = RANK - 1; d >= 0; d--)
    {
        const uint rest = d > 0 ? DivideBySize(item, dimensions[d]) : 0;
        offset += (item - rest * dimensions[d].size) * dimensions[d].inputStride;
        item = rest;
    }
    return (LoadInput(offset) & MAGNITUDE) != 0;
}

#if STAGE == 2
void StoreOutputCoordinates(uint offset, OUTPUT_COORDINATES_VALUE value)
{
#if OUTPUT_COORDINATES_BITS < 16
    // Other threads write the other elements of this word.
    const uint perWord = 32 / OUTPUT_COORDINATES_BITS;
    const uint shift = offset % perWord * OUTPUT_COORDINATES_BITS;
    const uint mask = (1u << OUTPUT_COORDINATES_BITS) - 1;
    InterlockedAnd(outputCoordinatesTensor[offset / perWord], ~(mask << shift));
    InterlockedOr(outputCoordinatesTensor[offset / perWord], ((uint)value & mask) << shift);
#else
    outputCoordinatesTensor[offset] = (OUTPUT_COORDINATES_STORED)value;
#endif
}

// The last `columns` dimensions of an element's coordinate
void WriteRow(uint row, uint item)
{
    [unroll]
    for (int d = RANK - 1; d >= 0; d--)
    {
        const uint rest = d > 0 ? DivideBySize(item, dimensions[d]) : 0;
        const uint column = d + columns - RANK;
        if (column < columns)
            StoreOutputCoordinates(row * rowStride + column * columnStride, item - rest * dimensions[d].size);
        item = rest;
    }
}
#endif

[numthreads(NUM_THREADS, 1, 1)]
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    const uint block = group.y * groupColumns + group.x;
    if (block >= blocks)
        return;

    const uint first = (block * NUM_THREADS + thread) * ITEMS;
    bool found[ITEMS];
    uint own = 0;
    uint i;
    [unroll]
    for (i = 0; i < ITEMS; i++)
    {
        found[i] = false;
        if (first + i < count)
            found[i] = IsNonzero(first + i);
        own += found[i];
    }
    uint before;
    uint all;
    ScanGroup(thread, own, before, all);
#if STAGE == 0
    if (thread == 0)
        starts[block] = all;
#else
    uint row = starts[block] + before;
    const uint rows = starts[blocks];
    [unroll]
    for (i = 0; i < ITEMS; i++)
    {
        if (found[i])
            WriteRow(row++, first + i);
        if (first + i >= rows && first + i < count)
            WriteRow(first + i, 0);
    }
#endif
}
#endif
