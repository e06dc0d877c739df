// DML_OPERATOR_SLICE_GRAD: Gradient of SLICE1: puts the incoming gradients where the slice was taken from, and 0 elsewhere.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... slice_grad.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// Each thread works out one element, from its coordinate in OutputGradientTensor. Sizes and strides are in elements, and
// every tensor has the same number of dimensions.
//
// For each tensor, X being INPUT_GRADIENT or OUTPUT_GRADIENT:
//   X_STORED   type of an element in its buffer: double, float, float16_t, int64_t, int, int16_t, uint64_t, uint,
//              uint16_t; uint also where a word of 32 bits holds several elements
//   X_BITS     bits of an element: 8, 16, 32, 64
//   X_VALUE    type that elements are computed in: double, float (of float16_t too), int64_t, int, uint64_t or uint
//              of InputGradientTensor, OutputGradientTensor, whose elements are taken as bits: uint64_t or uint
//   InputGradientTensor: FLOAT64, FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8
//   OutputGradientTensor: FLOAT64, FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8
//   RANK       dimensions, 1 to 8
//   NUM_THREADS  threads in a group
//
// Dispatch groupColumns x rows groups, enough that their threads cover `count` elements.

struct Dimension
{
    uint size;        // of OutputGradientTensor
    uint multiplier;  // these three divide by size
    uint halving;
    uint shift;
    uint inputGradientStride;
    uint outputGradientStride;
    int inputWindowStrides;
    int first;
    int step;
    int inputGradientSizes;
    uint reserved0;
    uint reserved1;
};

[[vk::binding(0, 0)]] StructuredBuffer<INPUT_GRADIENT_STORED> inputGradientTensor : register(t0);
[[vk::binding(1, 0)]] RWStructuredBuffer<OUTPUT_GRADIENT_STORED> outputGradientTensor : register(u0);
[[vk::binding(2, 0)]] cbuffer Params : register(b0)
{
    uint count;         // elements of OutputGradientTensor
    uint groupColumns;  // thread groups along x
    uint reserved0;
    uint reserved1;
    Dimension dimensions[RANK];  // outermost first
};

// n / size for every n below 2^32
uint DivideBySize(uint n, Dimension dimension)
{
    const uint high = (uint)(((uint64_t)n * dimension.multiplier) >> 32);
    return (high + ((n - high) >> dimension.halving)) >> dimension.shift;
}

// The quotient of integers, rounded down, for a positive divisor
int FloorDivide(int dividend, int divisor)
{
    return dividend >= 0 ? dividend / divisor : -((divisor - 1 - dividend) / divisor);
}

// The remainder of integers, 0 or more, for a positive divisor
int FloorModulo(int dividend, int divisor)
{
    return dividend - FloorDivide(dividend, divisor) * divisor;
}

INPUT_GRADIENT_VALUE LoadInputGradient(uint offset)
{
#if INPUT_GRADIENT_BITS < 16
    const uint perWord = 32 / INPUT_GRADIENT_BITS;
    const uint above = inputGradientTensor[offset / perWord] << ((perWord - 1 - offset % perWord) * INPUT_GRADIENT_BITS);
    return (INPUT_GRADIENT_VALUE)above >> (32 - INPUT_GRADIENT_BITS);
#else
    return (INPUT_GRADIENT_VALUE)inputGradientTensor[offset];
#endif
}

void StoreOutputGradient(uint offset, OUTPUT_GRADIENT_VALUE value)
{
#if OUTPUT_GRADIENT_BITS < 16
    // Other threads write the other elements of this word.
    const uint perWord = 32 / OUTPUT_GRADIENT_BITS;
    const uint shift = offset % perWord * OUTPUT_GRADIENT_BITS;
    const uint mask = (1u << OUTPUT_GRADIENT_BITS) - 1;
    InterlockedAnd(outputGradientTensor[offset / perWord], ~(mask << shift));
    InterlockedOr(outputGradientTensor[offset / perWord], ((uint)value & mask) << shift);
#else
    outputGradientTensor[offset] = (OUTPUT_GRADIENT_STORED)value;
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

    bool all1 = true;
    [unroll]
    for (int d = 0; d < RANK; d++)
        all1 = all1 && ((dimensions[d].inputWindowStrides > 0 ? at[d] - dimensions[d].first : dimensions[d].first - at[d]) >= 0 && FloorModulo((dimensions[d].inputWindowStrides > 0 ? at[d] - dimensions[d].first : dimensions[d].first - at[d]), dimensions[d].step) == 0 && FloorDivide((dimensions[d].inputWindowStrides > 0 ? at[d] - dimensions[d].first : dimensions[d].first - at[d]), dimensions[d].step) < dimensions[d].inputGradientSizes);
    const bool taken = all1;
    INPUT_GRADIENT_VALUE chosen1;
    if (taken)
    {
        uint offset1 = 0;
        [unroll]
        for (int d = 0; d < RANK; d++)
            offset1 += (uint)(FloorDivide((dimensions[d].inputWindowStrides > 0 ? at[d] - dimensions[d].first : dimensions[d].first - at[d]), dimensions[d].step)) * dimensions[d].inputGradientStride;
        chosen1 = LoadInputGradient(offset1);
    }
    else
    {
        chosen1 = (INPUT_GRADIENT_VALUE)0;
    }
    const OUTPUT_GRADIENT_VALUE value = (OUTPUT_GRADIENT_VALUE)chosen1;
    uint offset2 = 0;
    [unroll]
    for (int d = 0; d < RANK; d++)
        offset2 += (uint)(at[d]) * dimensions[d].outputGradientStride;
    StoreOutputGradient(offset2, value);
}
