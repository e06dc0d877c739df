// DML_OPERATOR_ELEMENT_WISE_SIN: Takes the sine of each element, in radians.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... element_wise_sin.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// Element by element. Each thread writes UNROLL vectors of OutputTensor elements, NUM_THREADS vectors apart, or a
// block: VECTOR vectors that are neighbours along another dimension. Sizes and strides are in elements; neighbouring
// dimensions that all tensors run through in one step are merged beforehand, and dimensions of size 1 left out.
//
// For each tensor, X being INPUT or OUTPUT:
//   X_STORED   type of an element in its buffer: double, float, float16_t, int64_t, int, int16_t, uint64_t, uint,
//              uint16_t; uint also where a word of 32 bits holds several elements
//   X_BITS     bits of an element: 16, 32
//   X_VALUE    type that elements are computed in: double, float (of float16_t too), int64_t, int, uint64_t or uint
//   InputTensor: FLOAT32, FLOAT16
//   OutputTensor: FLOAT32, FLOAT16
//   X_VECTOR   elements of an input loaded at once: VECTOR where its innermost stride is 1 and every other one a
//              multiple of VECTOR, else 1
//   VECTOR     elements stored at once: 1 for any strides of OutputTensor; where its innermost one is 1 and every other
//              one and the innermost size are multiples of it, 2 or 4 (at most 16 bytes; 4 for 8 bits, 1 for 4 bits)
//   BLOCKS     1 if threads write blocks, VECTOR being 2 or more and UNROLL the same, else 0
//   X_TURNED   1 for an input whose neighbours in memory are those along the other dimension of the blocks; X_VECTOR is
//              VECTOR and all strides but that one are multiples of it. Else 0
//   RANK       dimensions after merging, 1 to 8
//   UNROLL     vectors a thread writes, 1 or more
//   NUM_THREADS  threads in a group
//   HAS_SCALE_BIAS 1 or 0
//
// Dispatch groupColumns x rows groups, enough that their threads cover `count` vectors.

struct Dimension
{
    uint size;        // of the innermost dimension: in vectors; of the one before, where there are blocks, in blocks
    uint multiplier;  // these three divide by size
    uint halving;
    uint shift;
    uint inputStride;
    uint outputStride;
    uint reserved0;
    uint reserved1;
};

#if INPUT_VECTOR > 1 && INPUT_BITS >= 16
typedef vector<INPUT_STORED, INPUT_VECTOR> InputElements;
#else
typedef INPUT_STORED InputElements;
#endif
#if VECTOR > 1 && OUTPUT_BITS >= 16
typedef vector<OUTPUT_STORED, VECTOR> OutputElements;
#else
typedef OUTPUT_STORED OutputElements;
#endif

[[vk::binding(0, 0)]] StructuredBuffer<InputElements> inputTensor : register(t0);
[[vk::binding(1, 0)]] RWStructuredBuffer<OutputElements> outputTensor : register(u0);
[[vk::binding(2, 0)]] cbuffer Params : register(b0)
{
    uint count;         // vectors in OutputTensor
    uint groupColumns;  // thread groups along x
    uint inputStep;
    float scaleBiasScale;
    float scaleBiasBias;
    uint reserved0;
    uint reserved1;
    uint reserved2;
    Dimension dimensions[RANK];  // outermost first
};

struct Position
{
    uint inputTensor;
    uint outputTensor;
};

// n / size for every n below 2^32
uint DivideBySize(uint n, Dimension dimension)
{
    const uint high = (uint)(((uint64_t)n * dimension.multiplier) >> 32);
    return (high + ((n - high) >> dimension.halving)) >> dimension.shift;
}

// Where the first element of a vector lies in each tensor
Position Locate(uint item)
{
    Position position = { 0, 0 };
    [unroll]
    for (int d = RANK - 1; d >= 0; d--)
    {
        const uint rest = d > 0 ? DivideBySize(item, dimensions[d]) : 0;
        const uint coordinate = item - rest * dimensions[d].size;
        position.inputTensor += coordinate * dimensions[d].inputStride;
        position.outputTensor += coordinate * dimensions[d].outputStride;
        item = rest;
    }
    return position;
}

// No integer is NaN.
bool IsNan(uint x) { return false; }

// x * scale + bias; of integers computed in double precision, cut toward 0 and limited to the type
float Scaled(float x, float scale, float bias)
{
    precise float result = x * scale + bias;
    return result;
}

// The bit pattern of a number.
uint Bits(float x)
{
    return asuint(x);
}

// cos(high + low) for |high + low| up to pi / 4: a minimax polynomial in the square (Remez exchange); what 1 - high^2 /
// 2 loses in rounding is added.
float CosNearZero(float high, float low)
{
    const float z = high * high;
    float p = 2.4437757e-5f;
    p = p * z - 0.0013887362f;
    p = p * z + 0.041666646f;
    precise float halfSquare = 0.5f * z;
    precise float head = 1.0f - halfSquare;
    precise float result = head + (((1.0f - head) - halfSquare) + (z * z * p - high * low));
    return result;
}

// The number with this bit pattern.
float FromBits(uint bits)
{
    return asfloat(bits);
}

double FromBits(uint64_t bits)
{
    return asdouble((uint)bits, (uint)(bits >> 32));
}

// Whether x is infinite, of either sign; on the bit pattern, since a compiler may assume finite numbers.
bool IsInfinity(float x)
{
    return (Bits(x) & 0x7fffffffu) == 0x7f800000u;
}

// Whether x is not a number; on the bit pattern, since a compiler may take x != x for false.
bool IsNan(float x)
{
    return (Bits(x) & 0x7fffffffu) > 0x7f800000u;
}

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

// |x|, from the bit pattern: NaN stays NaN, and no driver flushes a subnormal.
float Magnitude(float x)
{
    return FromBits(Bits(x) & 0x7fffffffu);
}

// The NaN of a function outside its domain. The argument only chooses the type.
float QuietNan(float x)
{
    return FromBits(0x7fc00000u);
}

// x less the nearest multiple of pi / 2, as a sum result + low, for x from 0 to the largest number; quadrant is that
// multiple modulo 4. Payne and Hanek 1983, "Radian reduction for trigonometric functions", on integers: the significand
// of x times those bits of 2 / pi that matter, from 2^1 downwards modulo 4. The result is right to some 2^-31 (float),
// 2^-62 (double) of itself: the nearest that a double comes to a multiple is 2^-61 of pi / 2, and 75 more bits are
// known.

// 2 / pi after 64 zeros: bit j counted from the front has the value 2^(63 - j).
static const uint TWO_OVER_PI[39] = {
    0x00000000, 0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
    0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
    0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
    0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
    0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046,
};

// 32 bits of the table from this bit on
uint TwoOverPi(uint bit)
{
    const uint word = bit >> 5;
    return (uint)(((uint64_t)TWO_OVER_PI[word] << 32 | TWO_OVER_PI[word + 1]) >> (32 - (bit & 31)));
}

float ReduceAngle(float x, out float low, out uint quadrant)
{
    low = 0.0f;
    quadrant = 0;
    if (x <= 0.7853982f)
        return x;
    // x = significand * 2^(exponent - 150)
    const uint exponent = Bits(x) >> 23;
    const uint significand = (Bits(x) & 0x007fffffu) | 0x00800000u;
    const uint first = exponent - 88;
    const uint64_t lowest = (uint64_t)significand * TwoOverPi(first + 64);
    const uint64_t middle = (uint64_t)significand * TwoOverPi(first + 32) + (lowest >> 32);
    const uint highest = significand * TwoOverPi(first) + (uint)(middle >> 32);

    // Two bits of quadrant, then the fraction of a quarter turn; from one half on, what lacks to the next quadrant.
    uint64_t fraction = (uint64_t)highest << 34 | (uint64_t)(uint)middle << 2 | (uint)lowest >> 30;
    const bool isNegative = fraction >> 63 != 0;
    quadrant = ((highest >> 30) + (isNegative ? 1 : 0)) & 3;
    fraction = isNegative ? 0 - fraction : fraction;
    const uint zeros = LeadingZeros(fraction);
    const uint angle = (uint)((uint64_t)(uint)(fraction << zeros >> 32) * 0xc90fdaa2u >> 32);  // times pi / 2
    const float unit = FromBits((96 - zeros) << 23 | (isNegative ? 0x80000000u : 0));
    low = (float)(angle & 0xff) * unit;
    return (float)(angle & ~0xffu) * unit;
}

// sin(high + low) for |high + low| up to pi / 4: a minimax polynomial in the square (Remez exchange), the least term
// first in the sum.
float SinNearZero(float high, float low)
{
    const float z = high * high;
    float p = 2.7182377e-6f;
    p = p * z - 0.00019839327f;
    p = p * z + 0.008333329f;
    p = p * z - 0.16666667f;
    precise float result = high + (high * z * p + low * (1.0f - 0.5f * z));
    return result;
}

// The sine of x radians, of any size; NaN for infinities.
// Error at most 0.8 ulp (float), 0.8 ulp (double), as measured.
float Sin(float x)
{
    if (IsNan(x) || IsInfinity(x))
        return QuietNan(x);
    if (x == 0.0f)
        return x;
    float low;
    uint quadrant;
    const float angle = ReduceAngle(Magnitude(x), low, quadrant);
    const float result = (quadrant & 1) != 0 ? CosNearZero(angle, low) : SinNearZero(angle, low);
    return ((quadrant & 2) != 0) != (x < 0.0f) ? -result : result;
}

void LoadInput(uint offset, out INPUT_VALUE values[VECTOR])
{
#if INPUT_VECTOR > 1 && INPUT_BITS < 16
    const uint word = inputTensor[offset / 4];
#elif INPUT_VECTOR > 1
    const InputElements elements = inputTensor[offset / VECTOR];
#endif
    [unroll]
    for (uint k = 0; k < VECTOR; k++)
    {
#if INPUT_VECTOR > 1 && INPUT_BITS < 16
        values[k] = (INPUT_VALUE)(word << (24 - 8 * k)) >> 24;
#elif INPUT_VECTOR > 1
        values[k] = (INPUT_VALUE)elements[k];
#elif INPUT_BITS < 16
        const uint place = offset + k * inputStep;
        const uint perWord = 32 / INPUT_BITS;
        const uint above = inputTensor[place / perWord] << ((perWord - 1 - place % perWord) * INPUT_BITS);
        values[k] = (INPUT_VALUE)above >> (32 - INPUT_BITS);
#else
        values[k] = (INPUT_VALUE)inputTensor[offset + k * inputStep];
#endif
    }
}

void Store(uint offset, OUTPUT_VALUE values[VECTOR])
{
#if OUTPUT_BITS < 16 && VECTOR == 1
    // Other threads write the other elements of this word.
    const uint perWord = 32 / OUTPUT_BITS;
    const uint shift = offset % perWord * OUTPUT_BITS;
    const uint mask = (1u << OUTPUT_BITS) - 1;
    InterlockedAnd(outputTensor[offset / perWord], ~(mask << shift));
    InterlockedOr(outputTensor[offset / perWord], ((uint)values[0] & mask) << shift);
#elif OUTPUT_BITS < 16
    uint word = 0;
    [unroll]
    for (uint k = 0; k < VECTOR; k++)
        word |= ((uint)values[k] & 0xff) << (8 * k);
    outputTensor[offset / 4] = word;
#elif VECTOR == 1
    outputTensor[offset] = (OUTPUT_STORED)values[0];
#else
    OutputElements elements;
    [unroll]
    for (uint k = 0; k < VECTOR; k++)
        elements[k] = (OUTPUT_STORED)values[k];
    outputTensor[offset / VECTOR] = elements;
#endif
}

OUTPUT_VALUE Compute(INPUT_VALUE input)
{
    const INPUT_VALUE x = (HAS_SCALE_BIAS ? Scaled(input, scaleBiasScale, scaleBiasBias) : input);
    return (OUTPUT_VALUE)Sin(x);
}

[numthreads(NUM_THREADS, 1, 1)]
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    const uint apart = BLOCKS ? 0 : NUM_THREADS;
    const uint first = (group.y * groupColumns + group.x) * NUM_THREADS * (BLOCKS ? 1 : UNROLL) + thread;

    // All loads, then the stores: each thread keeps many loads under way.
    Position positions[UNROLL];
    INPUT_VALUE input[UNROLL][VECTOR];
    [unroll]
    for (uint u = 0; u < UNROLL; u++)
    {
        positions[u] = Locate(min(first + u * apart, count - 1));
#if BLOCKS
        positions[u].inputTensor += u * (dimensions[RANK - 2].inputStride / VECTOR);
        positions[u].outputTensor += u * (dimensions[RANK - 2].outputStride / VECTOR);
#endif
#if INPUT_TURNED
        INPUT_VALUE turnedInput[VECTOR];
        LoadInput(positions[0].inputTensor + u * inputStep, turnedInput);
        [unroll]
        for (uint k = 0; k < VECTOR; k++)
            input[k][u] = turnedInput[k];
#else
        LoadInput(positions[u].inputTensor, input[u]);
#endif
    }

    [unroll]
    for (uint u = 0; u < UNROLL; u++)
    {
        OUTPUT_VALUE values[VECTOR];
        [loop]  // a driver that joins unrolled elements into vectors may forget what is precise
        for (uint k = 0; k < VECTOR; k++)
            values[k] = Compute(input[u][k]);
        if (first + u * apart < count)
            Store(positions[u].outputTensor, values);
    }
}
