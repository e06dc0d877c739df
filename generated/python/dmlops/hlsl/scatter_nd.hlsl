// DML_OPERATOR_SCATTER_ND: Copies the input and overwrites blocks of it by tuples of coordinates.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... scatter_nd.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// Two dispatches. The first, over UpdatesTensor, finds for every output element the last update that goes there, and keeps
// its number, counted from 1 in row-major order, in `winners`, which starts as zeros. The second, over OutputTensor,
// writes that update, or the input's element where there is none. So the result never depends on which thread is first.
// Sizes and strides are in elements.
//
// For each tensor, X being OUTPUT or INPUT or INDICES or UPDATES:
//   X_STORED   type of an element in its buffer: double, float, float16_t, int64_t, int, int16_t, uint64_t, uint,
//              uint16_t; uint also where a word of 32 bits holds several elements
//   X_BITS     bits of an element: 8, 16, 32, 64
//   X_VALUE    type that elements are computed in: double, float (of float16_t too), int64_t, int, uint64_t or uint
//              of InputTensor, UpdatesTensor, OutputTensor, whose elements are taken as bits: uint64_t or uint
//   OutputTensor: FLOAT64, FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8
//   InputTensor: FLOAT64, FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8
//   IndicesTensor: INT64, INT32, UINT64, UINT32
//   UpdatesTensor: FLOAT64, FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8
//   WRITES     0 in the first dispatch, 1 in the second
//   LOOKUPS    indices that lead to an element, 1 to 8
//   RANK       dimensions of OutputTensor after merging, 1 to 8
//   UPDATES_RANK  dimensions of UpdatesTensor after merging, 1 to 8
//   NUM_THREADS  threads in a group
//
// Dispatch groupColumns x rows groups, enough that their threads cover `count` elements.

struct Dimension
{
    uint size;
    uint multiplier;  // these three divide by size
    uint halving;
    uint shift;
    uint inputStride;
    uint indicesStride;
    uint updatesStride;
    uint outputStride;
};

struct Lookup
{
    uint size;  // of the output dimension that the index runs through
    uint outputStride;
    uint indicesOffset;
    uint reserved;
};

[[vk::binding(0, 0)]] StructuredBuffer<INPUT_STORED> inputTensor : register(t0);
[[vk::binding(1, 0)]] StructuredBuffer<INDICES_STORED> indicesTensor : register(t1);
[[vk::binding(2, 0)]] StructuredBuffer<UPDATES_STORED> updatesTensor : register(t2);
[[vk::binding(3, 0)]] RWStructuredBuffer<uint> winners : register(u0);  // by offset in OutputTensor
[[vk::binding(4, 0)]] RWStructuredBuffer<OUTPUT_STORED> outputTensor : register(u1);
[[vk::binding(5, 0)]] cbuffer Params : register(b0)
{
    uint count;         // elements of UpdatesTensor in the first dispatch, of OutputTensor in the second
    uint groupColumns;  // thread groups along x
    uint2 reserved;
    Dimension dimensions[RANK];  // of OutputTensor, outermost first
    Dimension updatesDimensions[UPDATES_RANK];
    Lookup lookups[LOOKUPS];
};

// n / size for every n below 2^32
uint DivideBySize(uint n, Dimension dimension)
{
    const uint high = (uint)(((uint64_t)n * dimension.multiplier) >> 32);
    return (high + ((n - high) >> dimension.halving)) >> dimension.shift;
}

// The coordinate that an index stands for: a negative one counts from the end, what is still outside is clamped
int Wrap(int index, int size) { return clamp(index < 0 ? index + size : index, 0, size - 1); }
int Wrap(uint index, int size) { return (int)min(index, (uint)size - 1); }
int Wrap(int64_t index, int size) { return (int)clamp(index < 0 ? index + size : index, (int64_t)0, (int64_t)size - 1); }
int Wrap(uint64_t index, int size) { return (int)min(index, (uint64_t)size - 1); }

#if WRITES
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

UPDATES_VALUE LoadUpdates(uint offset)
{
#if UPDATES_BITS < 16
    const uint perWord = 32 / UPDATES_BITS;
    const uint above = updatesTensor[offset / perWord] << ((perWord - 1 - offset % perWord) * UPDATES_BITS);
    return (UPDATES_VALUE)above >> (32 - UPDATES_BITS);
#else
    return (UPDATES_VALUE)updatesTensor[offset];
#endif
}

void StoreOutput(uint offset, OUTPUT_VALUE value)
{
#if OUTPUT_BITS < 16
    // Other threads write the other elements of this word.
    const uint perWord = 32 / OUTPUT_BITS;
    const uint shift = offset % perWord * OUTPUT_BITS;
    const uint mask = (1u << OUTPUT_BITS) - 1;
    InterlockedAnd(outputTensor[offset / perWord], ~(mask << shift));
    InterlockedOr(outputTensor[offset / perWord], ((uint)value & mask) << shift);
#else
    outputTensor[offset] = (OUTPUT_STORED)value;
#endif
}

[numthreads(NUM_THREADS, 1, 1)]
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    uint item = (group.y * groupColumns + group.x) * NUM_THREADS + thread;
    if (item >= count)
        return;

    uint from = 0;
    uint to = 0;
    int d;
    [unroll]
    for (d = RANK - 1; d >= 0; d--)
    {
        const uint rest = d > 0 ? DivideBySize(item, dimensions[d]) : 0;
        const uint coordinate = item - rest * dimensions[d].size;
        from += coordinate * dimensions[d].inputStride;
        to += coordinate * dimensions[d].outputStride;
        item = rest;
    }
    const uint winner = winners[to];
    if (winner == 0)
    {
        StoreOutput(to, LoadInput(from));
        return;
    }
    uint number = winner - 1;
    from = 0;
    [unroll]
    for (d = UPDATES_RANK - 1; d >= 0; d--)
    {
        const uint rest = d > 0 ? DivideBySize(number, updatesDimensions[d]) : 0;
        from += (number - rest * updatesDimensions[d].size) * updatesDimensions[d].updatesStride;
        number = rest;
    }
    StoreOutput(to, LoadUpdates(from));
}
#else
INDICES_VALUE LoadIndices(uint offset)
{
#if INDICES_BITS < 16
    const uint perWord = 32 / INDICES_BITS;
    const uint above = indicesTensor[offset / perWord] << ((perWord - 1 - offset % perWord) * INDICES_BITS);
    return (INDICES_VALUE)above >> (32 - INDICES_BITS);
#else
    return (INDICES_VALUE)indicesTensor[offset];
#endif
}

[numthreads(NUM_THREADS, 1, 1)]
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    const uint item = (group.y * groupColumns + group.x) * NUM_THREADS + thread;
    if (item >= count)
        return;

    uint index = 0;
    uint to = 0;
    uint number = item;
    [unroll]
    for (int d = UPDATES_RANK - 1; d >= 0; d--)
    {
        const uint rest = d > 0 ? DivideBySize(number, updatesDimensions[d]) : 0;
        const uint coordinate = number - rest * updatesDimensions[d].size;
        index += coordinate * updatesDimensions[d].indicesStride;
        to += coordinate * updatesDimensions[d].outputStride;
        number = rest;
    }
    [unroll]
    for (uint l = 0; l < LOOKUPS; l++)
    {
        const INDICES_VALUE wanted = LoadIndices(index + lookups[l].indicesOffset);
        to += (uint)Wrap(wanted, (int)lookups[l].size) * lookups[l].outputStride;
    }
    InterlockedMax(winners[to], item + 1);
}
#endif
