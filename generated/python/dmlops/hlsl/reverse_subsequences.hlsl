// DML_OPERATOR_REVERSE_SUBSEQUENCES: Reverses the beginning of every line along one axis, up to the length given for it.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... reverse_subsequences.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// Each thread works out one element, from its coordinate in OutputTensor. Sizes and strides are in elements, and
// every tensor has the same number of dimensions.
//
// For each tensor, X being INPUT or SEQUENCE_LENGTHS or OUTPUT:
//   X_STORED   type of an element in its buffer: double, float, float16_t, int64_t, int, int16_t, uint64_t, uint,
//              uint16_t; uint also where a word of 32 bits holds several elements
//   X_BITS     bits of an element: 8, 16, 32, 64
//   X_VALUE    type that elements are computed in: double, float (of float16_t too), int64_t, int, uint64_t or uint
//              of InputTensor, OutputTensor, whose elements are taken as bits: uint64_t or uint
//   InputTensor: FLOAT64, FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8
//   SequenceLengthsTensor: UINT64, UINT32
//   OutputTensor: FLOAT64, FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8
//   RANK       dimensions, 1 to 8
//   NUM_THREADS  threads in a group
//
// Dispatch groupColumns x rows groups, enough that their threads cover `count` elements.

struct Dimension
{
    uint size;        // of OutputTensor
    uint multiplier;  // these three divide by size
    uint halving;
    uint shift;
    uint inputStride;
    uint sequenceLengthsStride;
    uint outputStride;
    uint reserved0;
};

[[vk::binding(0, 0)]] StructuredBuffer<INPUT_STORED> inputTensor : register(t0);
[[vk::binding(1, 0)]] StructuredBuffer<SEQUENCE_LENGTHS_STORED> sequenceLengthsTensor : register(t1);
[[vk::binding(2, 0)]] RWStructuredBuffer<OUTPUT_STORED> outputTensor : register(u0);
[[vk::binding(3, 0)]] cbuffer Params : register(b0)
{
    uint count;         // elements of OutputTensor
    uint groupColumns;  // thread groups along x
    int axis;
    int limit;
    Dimension dimensions[RANK];  // outermost first
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

SEQUENCE_LENGTHS_VALUE LoadSequenceLengths(uint offset)
{
#if SEQUENCE_LENGTHS_BITS < 16
    const uint perWord = 32 / SEQUENCE_LENGTHS_BITS;
    const uint above = sequenceLengthsTensor[offset / perWord] << ((perWord - 1 - offset % perWord) * SEQUENCE_LENGTHS_BITS);
    return (SEQUENCE_LENGTHS_VALUE)above >> (32 - SEQUENCE_LENGTHS_BITS);
#else
    return (SEQUENCE_LENGTHS_VALUE)sequenceLengthsTensor[offset];
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
    const uint item = (group.y * groupColumns + group.x) * NUM_THREADS + thread;
    if (item >= count)
        return;

    int at[RANK];
    uint rest = item;
    [unroll]
    for (int d = RANK - 1; d >= 0; d--)
    {
        const uint outer = d > 0 ? DivideBySize(rest, dimensions[d]) : 0;
        at[d] = (int)(rest - outer * dimensions[d].size);
        rest = outer;
    }

    uint offset1 = 0;
    [unroll]
    for (int d = 0; d < RANK; d++)
        offset1 += (uint)(d == axis ? 0 : at[d]) * dimensions[d].sequenceLengthsStride;
    const int length = Wrap(LoadSequenceLengths(offset1), limit);
    int chosen1;
    if (at[axis] < length)
    {
        chosen1 = length - 1 - at[axis];
    }
    else
    {
        chosen1 = at[axis];
    }
    const int changed1 = chosen1;
    uint offset2 = 0;
    [unroll]
    for (int d = 0; d < RANK; d++)
        offset2 += (uint)(d == axis ? changed1 : at[d]) * dimensions[d].inputStride;
    const OUTPUT_VALUE value = (OUTPUT_VALUE)LoadInput(offset2);
    uint offset3 = 0;
    [unroll]
    for (int d = 0; d < RANK; d++)
        offset3 += (uint)(at[d]) * dimensions[d].outputStride;
    StoreOutput(offset3, value);
}
