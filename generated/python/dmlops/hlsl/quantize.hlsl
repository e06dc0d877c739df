// DML_OPERATOR_QUANTIZE: Divides by a scale, rounds and adds a zero point, element by element, with one scale for each block of elements.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... quantize.hlsl
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
//   InputTensor: FLOAT32, FLOAT16
//   QuantizationTensors[0]: FLOAT32, FLOAT16, INT8, INT4, UINT8, UINT4
//   QuantizationTensors[1]: FLOAT32, FLOAT16, INT8, INT4, UINT8, UINT4
//   OutputTensor: INT8, INT4, UINT8, UINT4
//   X_LOWEST   least value of the data type of OutputTensor
//   X_HIGHEST  greatest value of it
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

// x / y: of floats as the hardware divides, which Vulkan lets be off by 2.5 ulp; of integers cut toward 0, and 0 where y
// is 0. The hardware's division of integers is undefined by 0, and by -1 where the quotient overflows.
int Quotient(int x, int y) { return y == 0 ? 0 : y == -1 ? (int)(0 - (uint)x) : x / y; }
uint Quotient(uint x, uint y) { return y == 0 ? 0 : x / max(y, 1); }

// The number with this bit pattern.
float FromBits(uint bits)
{
    return asfloat(bits);
}

// The zero bits above the highest one of a number that is not 0.
uint LeadingZeros(uint x)
{
    return 31 - firstbithigh(x);
}

// The NaN of a function outside its domain. The argument only chooses the type.
float QuietNan(float x)
{
    return FromBits(0x7fc00000u);
}

// a / b, correctly rounded, subnormal operands and results included; Vulkan lets an instruction be off by 2.5 ulp. The
// instruction estimates the quotient of the significands as an integer, its exact remainder corrects it.
float Divide(float a, float b)
{
    const uint aBits = Bits(a) & 0x7fffffffu;
    const uint bBits = Bits(b) & 0x7fffffffu;
    const uint sign = (Bits(a) ^ Bits(b)) & ~0x7fffffffu;
    const bool isUndefined = aBits == bBits && (aBits == 0 || aBits == 0x7f800000u);
    if (aBits > 0x7f800000u || bBits > 0x7f800000u || isUndefined)
        return QuietNan(a);
    if (aBits == 0x7f800000u || bBits == 0)
        return FromBits(sign | 0x7f800000u);
    if (aBits == 0 || bBits == 0x7f800000u)
        return FromBits(sign);

    // The significands as integers of 24 bits, a's doubled where it is below b's.
    int exponent = (int)(aBits >> 23) - (int)(bBits >> 23);
    uint aSignificand = (aBits & 0x007fffffu) | 0x00800000u;
    uint bSignificand = (bBits & 0x007fffffu) | 0x00800000u;
    if (aBits < 0x00800000u)
    {
        const uint shift = LeadingZeros(aBits) - 8;
        aSignificand = aBits << shift;
        exponent += 1 - (int)shift;
    }
    if (bBits < 0x00800000u)
    {
        const uint shift = LeadingZeros(bBits) - 8;
        bSignificand = bBits << shift;
        exponent -= 1 - (int)shift;
    }
    if (aSignificand < bSignificand)
    {
        aSignificand <<= 1;
        exponent--;
    }

    // quotient = floor(aSignificand * 2^25 / bSignificand). The remainder of a good estimate is small, so that it is
    // right modulo 2^32; one more division of it leaves the quotient off by one at most.
    const float divisor = (float)bSignificand;
    uint quotient = (uint)((float)aSignificand / divisor * 33554432.0f);
    int remainder = (int)((aSignificand << 25) - quotient * bSignificand);
    const int correction = (int)((float)remainder / divisor);
    quotient += (uint)correction;
    remainder -= correction * (int)bSignificand;
    if (remainder < 0)
    {
        quotient--;
        remainder += (int)bSignificand;
    }
    else if (remainder >= (int)bSignificand)
    {
        quotient++;
        remainder -= (int)bSignificand;
    }

    // Round to nearest even with two bits below the last one, and a third for all that is below those.
    exponent += 127;
    if (exponent >= 255)
        return FromBits(sign | 0x7f800000u);
    uint rounding = quotient << 1 | (remainder != 0 ? 1 : 0);
    uint bits = 0;
    if (exponent > 0)
        bits = (uint)(exponent - 1) << 23;
    else
    {
        const uint shift = (uint)min(1 - exponent, 28);
        const uint lost = rounding & (((uint)1 << shift) - 1);
        rounding = rounding >> shift | (lost != 0 ? 1 : 0);
    }
    const uint tail = (uint)rounding & 7;
    bits += rounding >> 3;
    if (tail > 4 || (tail == 4 && (bits & 1) != 0))
        bits++;
    return FromBits(sign | bits);
}

// x / y, correctly rounded; of integers cut toward 0, and 0 where y is 0
float DivideExactly(float x, float y) { return Divide(x, y); }
int DivideExactly(int x, int y) { return Quotient(x, y); }
uint DivideExactly(uint x, uint y) { return Quotient(x, y); }

// The integer nearest to x, the even one of two; with the sign of x. Exact. Adding and subtracting 2^52 leaves a double
// no room for a fraction.
float RoundEven(float x)
{
    return round(x);
}

// The nearest integer, halves to the even one, from lowest to highest; 0 for NaN
float Quantize(float x, int lowest, int highest)
{
    return IsNan(x) ? 0 : min(max(RoundEven(x), (float)lowest), (float)highest);
}

int Quantize(int x, int lowest, int highest) { return clamp(x, lowest, highest); }

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
    uint offset2 = 0;
    [unroll]
    for (int d = 0; d < RANK; d++)
        offset2 += (uint)(at[d] / dimensions[d].blocks) * dimensions[d].quantization0Stride;
    INPUT_VALUE chosen1;
    if (QUANTIZATION_TYPE == 2 /* SCALE_ZERO_POINT */)
    {
        uint offset3 = 0;
        [unroll]
        for (int d = 0; d < RANK; d++)
            offset3 += (uint)(at[d] / dimensions[d].blocks) * dimensions[d].quantization1Stride;
        chosen1 = Convert(RoundingOnce(LoadQuantization1(offset3), INPUT_BITS), (INPUT_VALUE)0);
    }
    else
    {
        chosen1 = (INPUT_VALUE)0;
    }
    const INPUT_VALUE zero = chosen1;
    const OUTPUT_VALUE value = (OUTPUT_VALUE)(OUTPUT_VALUE)Quantize(RoundEven(DivideExactly(LoadInput(offset1), LoadQuantization0(offset2))) + zero, OUTPUT_LOWEST, OUTPUT_HIGHEST);
    uint offset4 = 0;
    [unroll]
    for (int d = 0; d < RANK; d++)
        offset4 += (uint)(at[d]) * dimensions[d].outputStride;
    StoreOutput(offset4, value);
}
