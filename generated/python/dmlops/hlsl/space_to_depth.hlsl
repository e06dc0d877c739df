// DML_OPERATOR_SPACE_TO_DEPTH: Gathers square blocks of height and width into channels.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... space_to_depth.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// Each thread works out one element, from its coordinate in OutputTensor. Sizes and strides are in elements, and
// every tensor has the same number of dimensions.
//
// For each tensor, X being INPUT or OUTPUT:
//   X_STORED   type of an element in its buffer: double, float, float16_t, int64_t, int, int16_t, uint64_t, uint,
//              uint16_t; uint also where a word of 32 bits holds several elements
//   X_BITS     bits of an element: 8, 16, 32, 64
//   X_VALUE    type that elements are computed in: double, float (of float16_t too), int64_t, int, uint64_t or uint
//              of InputTensor, OutputTensor, whose elements are taken as bits: uint64_t or uint
//   InputTensor: FLOAT64, FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8
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
    uint outputStride;
    uint reserved0;
    uint reserved1;
};

[[vk::binding(0, 0)]] StructuredBuffer<INPUT_STORED> inputTensor : register(t0);
[[vk::binding(1, 0)]] RWStructuredBuffer<OUTPUT_STORED> outputTensor : register(u0);
[[vk::binding(2, 0)]] cbuffer Params : register(b0)
{
    uint count;         // elements of OutputTensor
    uint groupColumns;  // thread groups along x
    int channels;
    int blockSize;
    Dimension dimensions[RANK];  // outermost first
};

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

    const int changed1 = at[0];
    const int changed2 = (at[1] % channels);
    const int place = (at[1] / channels);
    const int changed3 = at[2] * blockSize + (place / blockSize);
    const int changed4 = at[3] * blockSize + (place % blockSize);
    uint offset1 = 0;
    [unroll]
    for (int d = 0; d < RANK; d++)
        offset1 += (uint)(d == 0 ? changed1 : d == 1 ? changed2 : d == 2 ? changed3 : changed4) * dimensions[d].inputStride;
    const OUTPUT_VALUE value = (OUTPUT_VALUE)LoadInput(offset1);
    uint offset2 = 0;
    [unroll]
    for (int d = 0; d < RANK; d++)
        offset2 += (uint)(at[d]) * dimensions[d].outputStride;
    StoreOutput(offset2, value);
}
