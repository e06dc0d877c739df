// DML_OPERATOR_DEQUANTIZE: Subtracts a zero point and multiplies by a scale, element by element, with one scale for each block of elements.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... dequantize.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// Each thread works out one element, from its coordinate in OutputTensor. Sizes and strides are in elements, and
// every tensor has the same number of dimensions.
//
// For each tensor, X being INPUT or QUANTIZATION0 or QUANTIZATION1 or OUTPUT:
//   X_STORED   type of an element in its buffer: double, float, float16_t, int64_t, int, int16_t, uint64_t, uint,
//              uint16_t; uint also where a word of 32 bits holds several elements
//   X_BITS     bits of an element: 4, 8, 16, 32
//   X_VALUE    type that elements are computed in: double, float (of float16_t too), int64_t, int, uint64_t or uint
//   InputTensor: INT8, INT4, UINT8, UINT4
//   QuantizationTensors[0]: FLOAT32, FLOAT16, INT8, INT4, UINT8, UINT4
//   QuantizationTensors[1]: FLOAT32, FLOAT16, INT8, INT4, UINT8, UINT4
//   OutputTensor: FLOAT32, FLOAT16
//   RANK       dimensions, 1 to 8
//   NUM_THREADS  threads in a group
//   QUANTIZATION_TYPE 0 NONE, 1 SCALE, 2 SCALE_ZERO_POINT
//
// Dispatch groupColumns x rows groups, enough that their threads cover `count` elements.

struct Dimension
{
    uint size;        // of OutputTensor
    uint multiplier;  // these three divide by size
    uint halving;
    uint shift;
    uint inputStride;
    uint quantization0Stride;
    uint quantization1Stride;
    uint outputStride;
    int blocks;
    uint reserved0;
    uint reserved1;
    uint reserved2;
};

[[vk::binding(0, 0)]] StructuredBuffer<INPUT_STORED> inputTensor : register(t0);
[[vk::binding(1, 0)]] StructuredBuffer<QUANTIZATION0_STORED> quantizationTensors0 : register(t1);
[[vk::binding(2, 0)]] StructuredBuffer<QUANTIZATION1_STORED> quantizationTensors1 : register(t2);
[[vk::binding(3, 0)]] RWStructuredBuffer<OUTPUT_STORED> outputTensor : register(u0);
[[vk::binding(4, 0)]] cbuffer Params : register(b0)
{
    uint count;         // elements of OutputTensor
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

// No integer is NaN.
bool IsNan(int x) { return false; }
bool IsNan(uint x) { return false; }

// The bit pattern of a number.
uint Bits(float x)
{
    return asuint(x);
}

// Whether x is not a number; on the bit pattern, since a compiler may take x != x for false.
bool IsNan(float x)
{
    return (Bits(x) & 0x7fffffffu) > 0x7f800000u;
}

// A number in the second argument's type. Floats are cut toward 0; what the integer type cannot hold becomes its
// nearest limit, and NaN 0.
float Convert(float x, float type) { return (float)x; }

int Convert(float x, int type)
{
    return IsNan(x) ? 0 : x >= 2147483648.0f ? 2147483647 : x <= -2147483648.0f ? -2147483647 - 1 : (int)x;
}

uint Convert(float x, uint type)
{
    return IsNan(x) ? 0 : x >= 4294967296.0f ? 0xffffffff : x <= 0.0f ? 0 : (uint)x;
}

float Convert(int x, float type) { return (float)x; }
int Convert(int x, int type) { return (int)x; }
uint Convert(int x, uint type) { return (uint)x; }
float Convert(uint x, float type) { return (float)x; }
int Convert(uint x, int type) { return (int)x; }
uint Convert(uint x, uint type) { return (uint)x; }

// x - y of integers, exactly, then rounded to a float: its magnitude fits 32 bits
float Difference(int x, int y, float type)
{
    return x >= y ? (float)((uint)x - (uint)y) : -(float)((uint)y - (uint)x);
}

float Difference(uint x, uint y, float type) { return x >= y ? (float)(x - y) : -(float)(y - x); }

// What a number is to be before it becomes a float that is rounded again, to fewer bits: the bits of a double that a
// float lacks are cut off, and the last one that remains tells whether any of them was set.
float RoundingOnce(float x, uint bits) { return x; }
int RoundingOnce(int x, uint bits) { return x; }
uint RoundingOnce(uint x, uint bits) { return x; }

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

QUANTIZATION0_VALUE LoadQuantization0(uint offset)
{
#if QUANTIZATION0_BITS < 16
    const uint perWord = 32 / QUANTIZATION0_BITS;
    const uint above = quantizationTensors0[offset / perWord] << ((perWord - 1 - offset % perWord) * QUANTIZATION0_BITS);
    return (QUANTIZATION0_VALUE)above >> (32 - QUANTIZATION0_BITS);
#else
    return (QUANTIZATION0_VALUE)quantizationTensors0[offset];
#endif
}

QUANTIZATION1_VALUE LoadQuantization1(uint offset)
{
#if QUANTIZATION1_BITS < 16
    const uint perWord = 32 / QUANTIZATION1_BITS;
    const uint above = quantizationTensors1[offset / perWord] << ((perWord - 1 - offset % perWord) * QUANTIZATION1_BITS);
    return (QUANTIZATION1_VALUE)above >> (32 - QUANTIZATION1_BITS);
#else
    return (QUANTIZATION1_VALUE)quantizationTensors1[offset];
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
        offset1 += (uint)(at[d]) * dimensions[d].inputStride;
    INPUT_VALUE chosen1;
    if (QUANTIZATION_TYPE == 2 /* SCALE_ZERO_POINT */)
    {
        uint offset2 = 0;
        [unroll]
        for (int d = 0; d < RANK; d++)
            offset2 += (uint)(at[d] / dimensions[d].blocks) * dimensions[d].quantization1Stride;
        chosen1 = Convert(RoundingOnce(LoadQuantization1(offset2), INPUT_BITS), (INPUT_VALUE)0);
    }
    else
    {
        chosen1 = (INPUT_VALUE)0;
    }
    const INPUT_VALUE zero = chosen1;
    uint offset3 = 0;
    [unroll]
    for (int d = 0; d < RANK; d++)
        offset3 += (uint)(at[d] / dimensions[d].blocks) * dimensions[d].quantization0Stride;
    const OUTPUT_VALUE value = (OUTPUT_VALUE)Difference(LoadInput(offset1), zero, (OUTPUT_VALUE)0) * LoadQuantization0(offset3);
    uint offset4 = 0;
    [unroll]
    for (int d = 0; d < RANK; d++)
        offset4 += (uint)(at[d]) * dimensions[d].outputStride;
    StoreOutput(offset4, value);
}
