// DML_OPERATOR_UPSAMPLE_2D: Enlarges the last two dimensions by whole factors.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... upsample_2d.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// Each thread works out one element, from its coordinate in OutputTensor. Sizes and strides are in elements, and
// every tensor has the same number of dimensions.
//
// For each tensor, X being INPUT or OUTPUT:
//   X_STORED   type of an element in its buffer: double, float, float16_t, int64_t, int, int16_t, uint64_t, uint,
//              uint16_t; uint also where a word of 32 bits holds several elements
//   X_BITS     bits of an element: 16, 32
//   X_VALUE    type that elements are computed in: double, float (of float16_t too), int64_t, int, uint64_t or uint
//   InputTensor: FLOAT32, FLOAT16
//   OutputTensor: FLOAT32, FLOAT16
//   RANK       dimensions, 1 to 8
//   NUM_THREADS  threads in a group
//   INTERPOLATION_MODE 0 NEAREST_NEIGHBOR, 1 LINEAR
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
    int inputSizes;
    uint reserved0;
};

[[vk::binding(0, 0)]] StructuredBuffer<INPUT_STORED> inputTensor : register(t0);
[[vk::binding(1, 0)]] RWStructuredBuffer<OUTPUT_STORED> outputTensor : register(u0);
[[vk::binding(2, 0)]] cbuffer Params : register(b0)
{
    uint count;         // elements of OutputTensor
    uint groupColumns;  // thread groups along x
    int scaleSizeHeight;
    int scaleSizeWidth;
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

// x / y: of floats as the hardware divides, which Vulkan lets be off by 2.5 ulp; of integers cut toward 0, and 0 where y
// is 0. The hardware's division of integers is undefined by 0, and by -1 where the quotient overflows.
float Quotient(float x, float y) { return x / y; }

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

    INPUT_VALUE chosen1;
    if (INTERPOLATION_MODE == 1 /* LINEAR */)
    {
        const int height = RANK - 2;
        const int down = 2 * (at[height] % scaleSizeHeight) + 1 - scaleSizeHeight;
        const INPUT_VALUE lowerWeight = Quotient(Convert(down + (down < 0 ? 2 * scaleSizeHeight : 0), (INPUT_VALUE)0), Convert(2 * scaleSizeHeight, (INPUT_VALUE)0));
        const int width = RANK - 1;
        const int right = 2 * (at[width] % scaleSizeWidth) + 1 - scaleSizeWidth;
        const INPUT_VALUE afterWeight = Quotient(Convert(right + (right < 0 ? 2 * scaleSizeWidth : 0), (INPUT_VALUE)0), Convert(2 * scaleSizeWidth, (INPUT_VALUE)0));
        const int column = (at[width] / scaleSizeWidth);
        const int left = column - (right < 0 ? 1 : 0);
        const int before = max(left, 0);
        const int row = (at[height] / scaleSizeHeight);
        const int top = row - (down < 0 ? 1 : 0);
        const int changed1 = max(top, 0);
        uint offset1 = 0;
        [unroll]
        for (int d = 0; d < RANK; d++)
            offset1 += (uint)(d == width ? before : (d == height ? changed1 : at[d])) * dimensions[d].inputStride;
        const int after = min(left + 1, dimensions[width].inputSizes - 1);
        uint offset2 = 0;
        [unroll]
        for (int d = 0; d < RANK; d++)
            offset2 += (uint)(d == width ? after : (d == height ? changed1 : at[d])) * dimensions[d].inputStride;
        const int changed2 = min(top + 1, dimensions[height].inputSizes - 1);
        uint offset3 = 0;
        [unroll]
        for (int d = 0; d < RANK; d++)
            offset3 += (uint)(d == width ? before : (d == height ? changed2 : at[d])) * dimensions[d].inputStride;
        uint offset4 = 0;
        [unroll]
        for (int d = 0; d < RANK; d++)
            offset4 += (uint)(d == width ? after : (d == height ? changed2 : at[d])) * dimensions[d].inputStride;
        chosen1 = ((INPUT_VALUE)1 - lowerWeight) * (((INPUT_VALUE)1 - afterWeight) * LoadInput(offset1) + afterWeight * LoadInput(offset2)) + lowerWeight * (((INPUT_VALUE)1 - afterWeight) * LoadInput(offset3) + afterWeight * LoadInput(offset4));
    }
    else
    {
        const int width = RANK - 1;
        const int column = (at[width] / scaleSizeWidth);
        const int height = RANK - 2;
        const int row = (at[height] / scaleSizeHeight);
        uint offset5 = 0;
        [unroll]
        for (int d = 0; d < RANK; d++)
            offset5 += (uint)(d == width ? column : (d == height ? row : at[d])) * dimensions[d].inputStride;
        chosen1 = LoadInput(offset5);
    }
    const OUTPUT_VALUE value = (OUTPUT_VALUE)chosen1;
    uint offset6 = 0;
    [unroll]
    for (int d = 0; d < RANK; d++)
        offset6 += (uint)(at[d]) * dimensions[d].outputStride;
    StoreOutput(offset6, value);
}
