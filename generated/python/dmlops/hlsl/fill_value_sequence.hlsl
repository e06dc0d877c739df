// DML_OPERATOR_FILL_VALUE_SEQUENCE: Fills the output with numbers in even steps, in the order of its elements.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... fill_value_sequence.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// Each thread works out one element, from its coordinate in OutputTensor. Sizes and strides are in elements, and
// every tensor has the same number of dimensions.
//
// For each tensor, X being OUTPUT:
//   X_STORED   type of an element in its buffer: double, float, float16_t, int64_t, int, int16_t, uint64_t, uint,
//              uint16_t; uint also where a word of 32 bits holds several elements
//   X_BITS     bits of an element: 8, 16, 32, 64
//   X_VALUE    type that elements are computed in: double, float (of float16_t too), int64_t, int, uint64_t or uint
//   OutputTensor: FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8
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
    uint outputStride;
    int pitch;
    uint reserved0;
    uint reserved1;
};

[[vk::binding(0, 0)]] RWStructuredBuffer<OUTPUT_STORED> outputTensor : register(u0);
[[vk::binding(1, 0)]] cbuffer Params : register(b0)
{
    uint count;         // elements of OutputTensor
    uint groupColumns;  // thread groups along x
    uint2 valueStart;
    uint2 valueDelta;
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
bool IsNan(int64_t x) { return false; }
bool IsNan(uint64_t x) { return false; }

// The zero bits above the highest one of a number that is not 0.
uint LeadingZeros(uint x)
{
    return 31 - firstbithigh(x);
}

uint LeadingZeros(uint64_t x)
{
    const uint high = (uint)(x >> 32);
    return high != 0 ? LeadingZeros(high) : 32 + LeadingZeros((uint)x);
}

// The nearest float. Some drivers convert the lower 32 bits alone, so it is made of 32 bits, the last of which tells
// whether any that were cut off was set.
float WideToFloat(uint64_t x)
{
    const uint high = (uint)(x >> 32);
    if (high == 0)
        return (float)(uint)x;
    const uint shift = 32 - LeadingZeros(high);
    const bool lost = (x & (((uint64_t)1 << shift) - 1)) != 0;
    return (float)((uint)(x >> shift) | (uint)lost) * (float)(1u << (shift - 1)) * 2.0f;
}

float WideToFloat(int64_t x)
{
    return x < 0 ? -WideToFloat((uint64_t)0 - (uint64_t)x) : WideToFloat((uint64_t)x);
}

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

int64_t Convert(float x, int64_t type)
{
    return IsNan(x) ? 0 : x >= 9223372036854775808.0f ? ~((int64_t)1 << 63) : x <= -9223372036854775808.0f ? (int64_t)1 << 63 : (int64_t)x;
}

uint64_t Convert(float x, uint64_t type)
{
    return IsNan(x) ? 0 : x >= 18446744073709551616.0f ? ~(uint64_t)0 : x <= 0.0f ? 0 : (uint64_t)x;
}

float Convert(int x, float type) { return (float)x; }
int Convert(int x, int type) { return (int)x; }
uint Convert(int x, uint type) { return (uint)x; }
int64_t Convert(int x, int64_t type) { return (int64_t)x; }
uint64_t Convert(int x, uint64_t type) { return (uint64_t)x; }
float Convert(uint x, float type) { return (float)x; }
int Convert(uint x, int type) { return (int)x; }
uint Convert(uint x, uint type) { return (uint)x; }
int64_t Convert(uint x, int64_t type) { return (int64_t)x; }
uint64_t Convert(uint x, uint64_t type) { return (uint64_t)x; }
float Convert(int64_t x, float type) { return WideToFloat(x); }
int Convert(int64_t x, int type) { return (int)x; }
uint Convert(int64_t x, uint type) { return (uint)x; }
int64_t Convert(int64_t x, int64_t type) { return (int64_t)x; }
uint64_t Convert(int64_t x, uint64_t type) { return (uint64_t)x; }
float Convert(uint64_t x, float type) { return WideToFloat(x); }
int Convert(uint64_t x, int type) { return (int)x; }
uint Convert(uint64_t x, uint type) { return (uint)x; }
int64_t Convert(uint64_t x, int64_t type) { return (int64_t)x; }
uint64_t Convert(uint64_t x, uint64_t type) { return (uint64_t)x; }

// A number of the second argument's type from the bits of a constant: the host packs 4 or 8 bytes, low ones first.
float Unpack(uint2 bits, float type) { return asfloat(bits.x); }
int Unpack(uint2 bits, int type) { return (int)bits.x; }
uint Unpack(uint2 bits, uint type) { return bits.x; }
int64_t Unpack(uint2 bits, int64_t type) { return (int64_t)((uint64_t)bits.y << 32 | bits.x); }
uint64_t Unpack(uint2 bits, uint64_t type) { return (uint64_t)bits.y << 32 | bits.x; }

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

    int sum1 = 0;
    [unroll]
    for (int d = 0; d < RANK; d++)
        sum1 = sum1 + (at[d] * dimensions[d].pitch);
    const int number = sum1;
    const OUTPUT_VALUE value = (OUTPUT_VALUE)Unpack(valueStart, (OUTPUT_VALUE)0) + Convert(number, (OUTPUT_VALUE)0) * Unpack(valueDelta, (OUTPUT_VALUE)0);
    uint offset1 = 0;
    [unroll]
    for (int d = 0; d < RANK; d++)
        offset1 += (uint)(at[d]) * dimensions[d].outputStride;
    StoreOutput(offset1, value);
}
