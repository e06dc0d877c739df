// DML_OPERATOR_CUMULATIVE_PRODUCT: Multiplies along one axis and writes each product on the way.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... cumulative_product.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// A line runs along the axis and is cut into segments of equal length, of which the last may be shorter; each is
// scanned from `starts` on where there are several. Their totals come from this shader, and the starts from their
// totals: three dispatches. Sizes and strides are in elements; a stride may be negative, as its two's complement.
//
// For each tensor, X being OUTPUT or INPUT:
//   X_STORED   type of an element in its buffer: double, float, float16_t, int64_t, int, int16_t, uint64_t, uint,
//              uint16_t; uint also where a word of 32 bits holds several elements
//   X_BITS     bits of an element: 16, 32, 64
//   X_VALUE    type that elements are computed in: double, float (of float16_t too), int64_t, int, uint64_t or uint
//   OutputTensor: FLOAT32, FLOAT16, INT64, INT32, UINT64, UINT32
//   InputTensor: FLOAT32, FLOAT16, INT64, INT32, UINT64, UINT32
//   TOTALS       1 to store the total of each segment alone, else 0
//   STARTED      1 if segments have starts, else 0
//   GROUP_PER_LINE  1 if a thread group works on a segment together, 0 if each thread has one for itself
//   RANK         dimensions apart from the axis, after merging, and that of the segments last: 1 to 8
//   ITEMS        elements that a thread loads before it goes on, 1 or more
//   NUM_THREADS  threads in a group
//
// Dispatch groupColumns x rows groups, enough for a group or a thread for each of `count` segments.

struct Dimension
{
    uint size;
    uint multiplier;  // these three divide by size
    uint halving;
    uint shift;
    uint inputStride;
    uint outputStride;
    uint reserved0;
    uint reserved1;
};

[[vk::binding(0, 0)]] StructuredBuffer<INPUT_STORED> inputTensor : register(t0);
[[vk::binding(1, 0)]] StructuredBuffer<INPUT_VALUE> starts : register(t1);
[[vk::binding(2, 0)]] RWStructuredBuffer<OUTPUT_STORED> outputTensor : register(u0);
[[vk::binding(3, 0)]] cbuffer Params : register(b0)
{
    uint count;          // segments of all lines
    uint groupColumns;   // thread groups along x
    uint length;         // of a line
    uint segmentLength;
    uint inputStart;     // offset of the first element of the first line
    uint inputStep;      // stride along the axis
    uint outputStart;
    uint outputStep;
    uint exclusive;      // 1 if results leave out the element in their own place, else 0
    uint3 reserved;
    Dimension dimensions[RANK];  // outermost first
};

// n / size for every n below 2^32
uint DivideBySize(uint n, Dimension dimension)
{
    const uint high = (uint)(((uint64_t)n * dimension.multiplier) >> 32);
    return (high + ((n - high) >> dimension.halving)) >> dimension.shift;
}

struct Position
{
    uint input;
    uint output;
};

// Where an item begins
Position Locate(uint item)
{
    Position position = { 0, 0 };
    [unroll]
    for (int d = RANK - 1; d >= 0; d--)
    {
        const uint rest = d > 0 ? DivideBySize(item, dimensions[d]) : 0;
        const uint coordinate = item - rest * dimensions[d].size;
        position.input += coordinate * dimensions[d].inputStride;
        position.output += coordinate * dimensions[d].outputStride;
        item = rest;
    }
    return position;
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

static const INPUT_VALUE IDENTITY = (INPUT_VALUE)1;

INPUT_VALUE Combine(INPUT_VALUE x, INPUT_VALUE y)
{
    return x * y;
}

#if GROUP_PER_LINE
groupshared INPUT_VALUE totals[NUM_THREADS];

// What the threads before this one have together, and all of them; for every thread of the group at once
void ScanGroup(uint thread, INPUT_VALUE own, out INPUT_VALUE before, out INPUT_VALUE all)
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
#endif

[numthreads(NUM_THREADS, 1, 1)]
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    const uint number = group.y * groupColumns + group.x;
#if GROUP_PER_LINE
    const uint item = number;
    const uint lane = thread;
    const uint lanes = NUM_THREADS;
#else
    const uint item = number * NUM_THREADS + thread;
    const uint lane = 0;
    const uint lanes = 1;
#endif
    if (item >= count)
        return;

    const uint segment = item - DivideBySize(item, dimensions[RANK - 1]) * dimensions[RANK - 1].size;
    const uint segmentEnd = min(segmentLength, length - segment * segmentLength);
    const Position position = Locate(item);
    const uint from = position.input + inputStart;
    const uint to = position.output + outputStart;

#if STARTED
    INPUT_VALUE running = starts[item];
#else
    INPUT_VALUE running = IDENTITY;
#endif
    [loop]
    for (uint first = 0; first < segmentEnd; first += lanes * ITEMS)
    {
        const uint begin = first + lane * ITEMS;
        INPUT_VALUE values[ITEMS];
        INPUT_VALUE own = IDENTITY;
        uint i;
        [unroll]
        for (i = 0; i < ITEMS; i++)
        {
            values[i] = IDENTITY;
            if (begin + i < segmentEnd)
                values[i] = LoadInput(from + (begin + i) * inputStep);
            own = Combine(own, values[i]);
        }
        INPUT_VALUE result = running;
#if GROUP_PER_LINE
        INPUT_VALUE before;
        INPUT_VALUE all;
        ScanGroup(thread, own, before, all);
        result = Combine(running, before);
        running = Combine(running, all);
#endif
        [unroll]
        for (i = 0; i < ITEMS; i++)
        {
            const INPUT_VALUE past = result;
            result = Combine(result, values[i]);
#if !TOTALS
            if (begin + i < segmentEnd)
                StoreOutput(to + (begin + i) * outputStep, exclusive ? past : result);
#endif
        }
#if !GROUP_PER_LINE
        running = result;
#endif
    }
#if TOTALS
    if (lane == 0)
        StoreOutput(to, running);
#endif
}
