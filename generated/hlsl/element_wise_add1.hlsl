// DML_OPERATOR_ELEMENT_WISE_ADD1: Adds the elements of each pair, and may apply an activation to the sums.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... element_wise_add1.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// Element by element. Each thread writes UNROLL vectors of OutputTensor elements, NUM_THREADS vectors apart, or a
// block: VECTOR vectors that are neighbours along another dimension. Sizes and strides are in elements; neighbouring
// dimensions that all tensors run through in one step are merged beforehand, and dimensions of size 1 left out.
//
// For each tensor, X being A or B or OUTPUT:
//   X_STORED   type of an element in its buffer: double, float, float16_t, int64_t, int, int16_t, uint64_t, uint,
//              uint16_t; uint also where a word of 32 bits holds several elements
//   X_BITS     bits of an element: 16, 32
//   X_VALUE    type that elements are computed in: double, float (of float16_t too), int64_t, int, uint64_t or uint
//   ATensor: FLOAT32, FLOAT16
//   BTensor: FLOAT32, FLOAT16
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
//   ACTIVATION the type of the fused activation, 0 for none
//
// Dispatch groupColumns x rows groups, enough that their threads cover `count` vectors.

struct Dimension
{
    uint size;        // of the innermost dimension: in vectors; of the one before, where there are blocks, in blocks
    uint multiplier;  // these three divide by size
    uint halving;
    uint shift;
    uint aStride;
    uint bStride;
    uint outputStride;
    uint reserved0;
};

#if A_VECTOR > 1 && A_BITS >= 16
typedef vector<A_STORED, A_VECTOR> AElements;
#else
typedef A_STORED AElements;
#endif
#if B_VECTOR > 1 && B_BITS >= 16
typedef vector<B_STORED, B_VECTOR> BElements;
#else
typedef B_STORED BElements;
#endif
#if VECTOR > 1 && OUTPUT_BITS >= 16
typedef vector<OUTPUT_STORED, VECTOR> OutputElements;
#else
typedef OUTPUT_STORED OutputElements;
#endif

[[vk::binding(0, 0)]] StructuredBuffer<AElements> aTensor : register(t0);
[[vk::binding(1, 0)]] StructuredBuffer<BElements> bTensor : register(t1);
[[vk::binding(2, 0)]] RWStructuredBuffer<OutputElements> outputTensor : register(u0);
[[vk::binding(3, 0)]] cbuffer Params : register(b0)
{
    uint count;         // vectors in OutputTensor
    uint groupColumns;  // thread groups along x
    uint aStep;
    uint bStep;
    float activationParameter0;
    float activationParameter1;
    uint reserved0;
    uint reserved1;
    Dimension dimensions[RANK];  // outermost first
};

struct Position
{
    uint aTensor;
    uint bTensor;
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
    Position position = { 0, 0, 0 };
    [unroll]
    for (int d = RANK - 1; d >= 0; d--)
    {
        const uint rest = d > 0 ? DivideBySize(item, dimensions[d]) : 0;
        const uint coordinate = item - rest * dimensions[d].size;
        position.aTensor += coordinate * dimensions[d].aStride;
        position.bTensor += coordinate * dimensions[d].bStride;
        position.outputTensor += coordinate * dimensions[d].outputStride;
        item = rest;
    }
    return position;
}

// Whether x is larger than a number; of integers, what is below every one of them, or not, needs no rounding
bool Above(float x, float limit) { return x > limit; }

// The bit pattern of a number.
uint Bits(float x)
{
    return asuint(x);
}

// The number with this bit pattern.
float FromBits(uint bits)
{
    return asfloat(bits);
}

// |x|, from the bit pattern: NaN stays NaN, and no driver flushes a subnormal.
float Magnitude(float x)
{
    return FromBits(Bits(x) & 0x7fffffffu);
}

// The magnitude; the least integer of a signed type stays itself.
float Abs(float x) { return Magnitude(x); }

// Whether x is smaller than a number; of integers, what is above every one of them, or not, needs no rounding
bool Below(float x, float limit) { return x < limit; }

// No integer is NaN.
bool IsNan(int x) { return false; }
bool IsNan(uint x) { return false; }

// Whether x is not a number; on the bit pattern, since a compiler may take x != x for false.
bool IsNan(float x)
{
    return (Bits(x) & 0x7fffffffu) > 0x7f800000u;
}

// Whether two numbers are equal; false if either is NaN, even where a compiler assumes that there is none
bool Equal(float a, float b) { return !IsNan(a) && !IsNan(b) && a == b; }

// Whether a is smaller than b; false if either is NaN, even where a compiler assumes that there is none
bool Less(float a, float b) { return !IsNan(a) && !IsNan(b) && a < b; }

// Whether a is at most b; false if either is NaN, even where a compiler assumes that there is none
bool LessOrEqual(float a, float b) { return !IsNan(a) && !IsNan(b) && a <= b; }

// x / y: of floats as the hardware divides, which Vulkan lets be off by 2.5 ulp; of integers cut toward 0, and 0 where y
// is 0. The hardware's division of integers is undefined by 0, and by -1 where the quotient overflows.
float Quotient(float x, float y) { return x / y; }

// x * scale + bias; of integers computed in double precision, cut toward 0 and limited to the type
float Scaled(float x, float scale, float bias)
{
    precise float result = x * scale + bias;
    return result;
}

// -1, 0 or 1; 0 of NaN. Through integers: drivers make -0 of a choice between floats.
float Sign(float x) { return (float)(x > 0.0f ? 1 : x < 0.0f ? -1 : 0); }

// (artanh(s) - s - s^3 / 3) / s^5 as a function of z = s^2, for z up to 0.0297: a minimax polynomial (Remez exchange).
// artanh(s) is within 2^-36 (float), 2^-73 (double) with it.
float AtanhTail(float z)
{
    float p = 0.11715452f;
    p = p * z + 0.1427332f;
    p = p * z + 0.20000078f;
    return p;
}

// The magnitude of the first argument with the sign of the second.
float CopySign(float magnitude, float sign)
{
    return FromBits((Bits(magnitude) & 0x7fffffffu) | (Bits(sign) & 0x80000000u));
}

// e^x - 1 - x for |x| up to 0.3475: a minimax polynomial (Remez exchange), within 2^-31 (float), 2^-61 (double) of e^x
// - 1.
float ExpTail(float x)
{
    float p = 0.00019845527f;
    p = p * x + 0.0013940894f;
    p = p * x + 0.008333391f;
    p = p * x + 0.04166636f;
    p = p * x + 0.16666666f;
    p = p * x + 0.5f;
    return p * x * x;
}

// Infinity with the sign of the argument.
float Infinity(float sign)
{
    return CopySign(FromBits(0x7f800000u), sign);
}

// x * 2^exponent for |x| from 1/8 to 8 and |exponent| to 250 (float), 2000 (double). Two factors reach all results and
// round once, where they are subnormal; larger ones are infinite.
float ScaleByPowerOfTwo(float x, int exponent)
{
    const int first = exponent >> 1;
    precise float scaled = x * FromBits((uint)(127 + first) << 23);
    scaled = scaled * FromBits((uint)(127 + exponent - first) << 23);
    return scaled;
}

// e^(high + low) for |low| below 2^-11: less k ln 2 in two steps (Cody and Waite 1980, "Software Manual for the
// Elementary Functions"), a polynomial, a power of two. NaN where high is.
float ExpOfSum(float high, float low)
{
    if (IsNan(high))
        return high;
    if (high > 89.0f)
        return Infinity(1.0f);
    if (high < -104.0f)
        return 0.0f;
    // Added to a small number, 1.5 * 2^23 rounds it to an integer in the lowest bits.
    precise float shifted = high * 1.442695f + 12582912.0f;
    precise float k = shifted - 12582912.0f;
    precise float a = high - k * 0.69314575f;  // exact
    precise float b = low - k * 1.4286068e-6f;
    precise float r = a + b;
    precise float rest = (a - r) + b;
    precise float result = 1.0f + (r + (ExpTail(r) + rest));
    return ScaleByPowerOfTwo(result, (int)k);
}

// e^x.
// Error at most 0.85 ulp (float), 0.85 ulp (double), as measured.
float Exp(float x)
{
    return ExpOfSum(x, 0.0f);
}

// The error function: below 1 a polynomial, then 1 - e^(-x^2) Q(1 / (|x| + 2)) (minimax by Remez exchange; the form is
// that of Cody 1969, "Rational Chebyshev approximations for the error function").
// Error at most 1.2 ulp (float), 1.2 ulp (double), as measured.
float Erf(float x)
{
    if (IsNan(x))
        return x;
    const float a = Magnitude(x);
    if (a > 4.0f)
        return CopySign(1.0f, x);
    if (a < 1.0f)
    {
        const float z = a * a;
        float p = 7.882577e-5f;
        p = p * z - 0.00080190494f;
        p = p * z + 0.005189353f;
        p = p * z - 0.02685436f;
        p = p * z + 0.11283598f;
        p = p * z - 0.37612626f;
        p = p * z + 0.12837917f;
        precise float result = a + a * p;
        return CopySign(result, x);
    }
    const float t = 1.0f / (a + 2.0f);
    float p = -7.3835053f;
    p = p * t + 10.183733f;
    p = p * t - 0.51384634f;
    p = p * t + 1.5866729f;
    p = p * t + 0.5194789f;
    p = p * t + 0.0018179901f;
    precise float result = 1.0f - Exp(-(a * a)) * p;
    return CopySign(result, x);
}

// e^x - 1 = 2^k ((1 - 2^-k) + (e^r - 1)), x = k ln 2 + r: nothing cancels near 0.
// Error at most 1.5 ulp (float), 1.55 ulp (double), as measured.
float Expm1(float x)
{
    if (IsNan(x) || Magnitude(x) < 2.9802322e-8f)
        return x;
    if (x > 89.0f)
        return Infinity(1.0f);
    if (x < -18.0f)
        return -1.0f;
    // Added to a small number, 1.5 * 2^23 rounds it to an integer in the lowest bits.
    precise float shifted = x * 1.442695f + 12582912.0f;
    precise float k = shifted - 12582912.0f;
    precise float a = x - k * 0.69314575f;  // exact
    precise float b = -k * 1.4286068e-6f;
    precise float r = a + b;
    precise float rest = (a - r) + b;
    const int exponent = (int)k;
    const float power = exponent > 30 ? 0.0f : FromBits((uint)(127 - exponent) << 23);
    precise float whole = 1.0f - power;
    precise float result = whole + (r + (ExpTail(r) + rest));
    return ScaleByPowerOfTwo(result, exponent);
}

// Whether x is infinite, of either sign; on the bit pattern, since a compiler may assume finite numbers.
bool IsInfinity(float x)
{
    return (Bits(x) & 0x7fffffffu) == 0x7f800000u;
}

// The zero bits above the highest one of a number that is not 0.
uint LeadingZeros(uint x)
{
    return 31 - firstbithigh(x);
}

// ln((1 + f) 2^exponent) + low for 1 + f from the root of 1/2 to the root of 2. With s = f / (2 + f) the logarithm of 1
// + f is 2 artanh(s), and 2 s = f - s f: a division that is slightly off hardly shows (series: Muller, "Elementary
// Functions").
float LogOfParts(float f, int exponent, float low)
{
    const float k = (float)exponent;
    precise float s = f / (2.0f + f);
    const float z = s * s;
    precise float tail = 2.0f * z * (0.33333334f + z * AtanhTail(z));
    precise float small = s * (f - tail) - (k * 1.4286068e-6f + low);
    precise float result = k * 0.69314575f + (f - small);  // the product is exact
    return result;
}

// x as the product of a number from the root of 1/2 to the root of 2 and 2^exponent; for positive finite x. Exact, for
// subnormals too.
float NormalizeNearOne(float x, out int exponent)
{
    uint bits = Bits(x);
    int shift = 0;
    if (bits < 0x00800000u)
    {
        shift = (int)LeadingZeros(bits) - 8;
        bits <<= shift;
    }
    const uint rest = bits - 0x3f3504f3u;
    exponent = (int)(rest >> 23) - (rest > 0x7fffffffu ? 512 : 0) - shift;
    return FromBits((rest & 0x007fffffu) + 0x3f3504f3u);
}

// The NaN of a function outside its domain. The argument only chooses the type.
float QuietNan(float x)
{
    return FromBits(0x7fc00000u);
}

// ln(1 + x), accurate near 0; -infinity for -1, NaN below. What 1 + x loses in rounding is added as its derivative
// says.
// Error at most 0.95 ulp (float), 0.95 ulp (double), as measured.
float Log1p(float x)
{
    if (IsNan(x) || Magnitude(x) < 2.9802322e-8f)
        return x;
    if (x <= -1.0f)
        return x < -1.0f ? QuietNan(x) : Infinity(x);
    if (IsInfinity(x))
        return x;
    if (x > -0.29f && x < 0.41f)
        return LogOfParts(x, 0, 0.0f);
    precise float sum = 1.0f + x;
    precise float lost = x < 1.0f ? x - (sum - 1.0f) : 1.0f - (sum - x);
    int exponent;
    const float scaled = NormalizeNearOne(sum, exponent);
    return LogOfParts(scaled - 1.0f, exponent, lost / sum);
}

// Integers in the order of the numbers, -0 below +0. Exact for subnormals on drivers that flush them, too.
int Order(float x)
{
    const int bits = (int)Bits(x);
    return bits < 0 ? (int)0x80000000u - bits - 1 : bits;
}

// The larger of two numbers; NaN if one is. Max(-0, +0) is +0, in either order (maximum and minimum of IEEE 754-2019),
// so that the result of a reduction does not depend on its order. Exact.
float Max(float a, float b)
{
    if (IsNan(a))
        return a;
    if (IsNan(b))
        return b;
    return Order(a) < Order(b) ? b : a;
}

// The smaller of two numbers; NaN if one is. Min(-0, +0) is -0, in either order (maximum and minimum of IEEE 754-2019),
// so that the result of a reduction does not depend on its order. Exact.
float Min(float a, float b)
{
    if (IsNan(a))
        return a;
    if (IsNan(b))
        return b;
    return Order(a) > Order(b) ? b : a;
}

// t / (t + 2) for t = e^(2 |x|) - 1.
// Error at most 2.45 ulp (float), 2.45 ulp (double), as measured.
float Tanh(float x)
{
    if (IsNan(x))
        return x;
    const float a = Magnitude(x);
    if (a > 10.0f)
        return CopySign(1.0f, x);
    const float t = Expm1(2.0f * a);
    return CopySign(t / (t + 2.0f), x);
}

void LoadA(uint offset, out A_VALUE values[VECTOR])
{
#if A_VECTOR > 1 && A_BITS < 16
    const uint word = aTensor[offset / 4];
#elif A_VECTOR > 1
    const AElements elements = aTensor[offset / VECTOR];
#endif
    [unroll]
    for (uint k = 0; k < VECTOR; k++)
    {
#if A_VECTOR > 1 && A_BITS < 16
        values[k] = (A_VALUE)(word << (24 - 8 * k)) >> 24;
#elif A_VECTOR > 1
        values[k] = (A_VALUE)elements[k];
#elif A_BITS < 16
        const uint place = offset + k * aStep;
        const uint perWord = 32 / A_BITS;
        const uint above = aTensor[place / perWord] << ((perWord - 1 - place % perWord) * A_BITS);
        values[k] = (A_VALUE)above >> (32 - A_BITS);
#else
        values[k] = (A_VALUE)aTensor[offset + k * aStep];
#endif
    }
}

void LoadB(uint offset, out B_VALUE values[VECTOR])
{
#if B_VECTOR > 1 && B_BITS < 16
    const uint word = bTensor[offset / 4];
#elif B_VECTOR > 1
    const BElements elements = bTensor[offset / VECTOR];
#endif
    [unroll]
    for (uint k = 0; k < VECTOR; k++)
    {
#if B_VECTOR > 1 && B_BITS < 16
        values[k] = (B_VALUE)(word << (24 - 8 * k)) >> 24;
#elif B_VECTOR > 1
        values[k] = (B_VALUE)elements[k];
#elif B_BITS < 16
        const uint place = offset + k * bStep;
        const uint perWord = 32 / B_BITS;
        const uint above = bTensor[place / perWord] << ((perWord - 1 - place % perWord) * B_BITS);
        values[k] = (B_VALUE)above >> (32 - B_BITS);
#else
        values[k] = (B_VALUE)bTensor[offset + k * bStep];
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

// What the fused activation makes of a result; its members are constants, in their order
OUTPUT_VALUE Activate(OUTPUT_VALUE input)
{
#if ACTIVATION == 0
    return input;
#elif ACTIVATION == 35  // ACTIVATION_ELU
    const float alpha = activationParameter0;
    const OUTPUT_VALUE x = input;
    return (LessOrEqual((OUTPUT_VALUE)0, x) ? x : alpha * Expm1(x));
#elif ACTIVATION == 37  // ACTIVATION_HARD_SIGMOID
    const float alpha = activationParameter0;
    const float beta = activationParameter1;
    return Max(Min(alpha * input + beta, (OUTPUT_VALUE)1), (OUTPUT_VALUE)0);
#elif ACTIVATION == 38  // ACTIVATION_IDENTITY
    return input;
#elif ACTIVATION == 39  // ACTIVATION_LEAKY_RELU
    const float alpha = activationParameter0;
    const OUTPUT_VALUE x = input;
    return (LessOrEqual((OUTPUT_VALUE)0, x) ? x : alpha * x);
#elif ACTIVATION == 40  // ACTIVATION_LINEAR
    const float alpha = activationParameter0;
    const float beta = activationParameter1;
    return alpha * input + beta;
#elif ACTIVATION == 43  // ACTIVATION_PARAMETRIC_SOFTPLUS
    const float alpha = activationParameter0;
    const float beta = activationParameter1;
    const OUTPUT_VALUE z = beta * input;
    return alpha * (Max(z, (OUTPUT_VALUE)0) + Log1p(Exp(-Abs(z))));
#elif ACTIVATION == 44  // ACTIVATION_RELU
    return Max(input, (OUTPUT_VALUE)0);
#elif ACTIVATION == 45  // ACTIVATION_SCALED_ELU
    const float alpha = activationParameter0;
    const float gamma = activationParameter1;
    const OUTPUT_VALUE x = input;
    return gamma * (Less((OUTPUT_VALUE)0, x) ? x : alpha * Expm1(x));
#elif ACTIVATION == 46  // ACTIVATION_SCALED_TANH
    const float alpha = activationParameter0;
    const float beta = activationParameter1;
    return alpha * Tanh(beta * input);
#elif ACTIVATION == 47  // ACTIVATION_SIGMOID
    return Quotient((OUTPUT_VALUE)1, (OUTPUT_VALUE)1 + Exp(-input));
#elif ACTIVATION == 49  // ACTIVATION_SOFTPLUS
    const float steepness = activationParameter0;
    const OUTPUT_VALUE z = steepness * input;
    return Quotient(Max(z, (OUTPUT_VALUE)0) + Log1p(Exp(-Abs(z))), steepness);
#elif ACTIVATION == 50  // ACTIVATION_SOFTSIGN
    const OUTPUT_VALUE x = input;
    return (IsInfinity(x) ? Sign(x) : Quotient(x, (OUTPUT_VALUE)1 + Abs(x)));
#elif ACTIVATION == 51  // ACTIVATION_TANH
    return Tanh(input);
#elif ACTIVATION == 52  // ACTIVATION_THRESHOLDED_RELU
    const float alpha = activationParameter0;
    const OUTPUT_VALUE x = input;
    return (Less(alpha, x) ? x : (OUTPUT_VALUE)0);
#elif ACTIVATION == 90  // ACTIVATION_SHRINK
    const float bias = activationParameter0;
    const float threshold = activationParameter1;
    const OUTPUT_VALUE x = input;
    return (Above(x, threshold) ? Scaled(x, 1.0, -bias) : (Below(x, -threshold) ? Scaled(x, 1.0, bias) : (OUTPUT_VALUE)0));
#elif ACTIVATION == 128  // ACTIVATION_CELU
    const float alpha = activationParameter0;
    const OUTPUT_VALUE x = input;
    return (LessOrEqual((OUTPUT_VALUE)0, x) ? x : alpha * Expm1(Quotient(x, alpha)));
#elif ACTIVATION == 157  // ACTIVATION_GELU
    const OUTPUT_VALUE x = input;
    const OUTPUT_VALUE weight = (OUTPUT_VALUE)0.5 * ((OUTPUT_VALUE)1 + Erf(x * (OUTPUT_VALUE)0.7071067811865476));
    return (Equal(weight, (OUTPUT_VALUE)0) ? (OUTPUT_VALUE)0 : x * weight);
#endif
}

OUTPUT_VALUE Compute(A_VALUE a, B_VALUE b)
{
    return (OUTPUT_VALUE)Activate(a + b);
}

[numthreads(NUM_THREADS, 1, 1)]
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    const uint apart = BLOCKS ? 0 : NUM_THREADS;
    const uint first = (group.y * groupColumns + group.x) * NUM_THREADS * (BLOCKS ? 1 : UNROLL) + thread;

    // All loads, then the stores: each thread keeps many loads under way.
    Position positions[UNROLL];
    A_VALUE a[UNROLL][VECTOR];
    B_VALUE b[UNROLL][VECTOR];
    [unroll]
    for (uint u = 0; u < UNROLL; u++)
    {
        positions[u] = Locate(min(first + u * apart, count - 1));
#if BLOCKS
        positions[u].aTensor += u * (dimensions[RANK - 2].aStride / VECTOR);
        positions[u].bTensor += u * (dimensions[RANK - 2].bStride / VECTOR);
        positions[u].outputTensor += u * (dimensions[RANK - 2].outputStride / VECTOR);
#endif
#if A_TURNED
        A_VALUE turnedA[VECTOR];
        LoadA(positions[0].aTensor + u * aStep, turnedA);
        [unroll]
        for (uint k = 0; k < VECTOR; k++)
            a[k][u] = turnedA[k];
#else
        LoadA(positions[u].aTensor, a[u]);
#endif
#if B_TURNED
        B_VALUE turnedB[VECTOR];
        LoadB(positions[0].bTensor + u * bStep, turnedB);
        [unroll]
        for (uint k = 0; k < VECTOR; k++)
            b[k][u] = turnedB[k];
#else
        LoadB(positions[u].bTensor, b[u]);
#endif
    }

    [unroll]
    for (uint u = 0; u < UNROLL; u++)
    {
        OUTPUT_VALUE values[VECTOR];
        [loop]  // a driver that joins unrolled elements into vectors may forget what is precise
        for (uint k = 0; k < VECTOR; k++)
            values[k] = Compute(a[u][k], b[u][k]);
        if (first + u * apart < count)
            Store(positions[u].outputTensor, values);
    }
}
