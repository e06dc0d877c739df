// DML_OPERATOR_ELEMENT_WISE_CONSTANT_POW: Raises each element to one and the same power.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... element_wise_constant_pow.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// Element by element. Each thread writes UNROLL vectors of OutputTensor elements, NUM_THREADS vectors apart, or a
// block: VECTOR vectors that are neighbours along another dimension. Sizes and strides are in elements; neighbouring
// dimensions that all tensors run through in one step are merged beforehand, and dimensions of size 1 left out.
//
// For each tensor, X being INPUT or OUTPUT:
//   X_STORED   type of an element in its buffer: double, float, float16_t, int64_t, int, int16_t, uint64_t, uint,
//              uint16_t; uint also where a word of 32 bits holds several elements
//   X_BITS     bits of an element: 8, 16, 32
//   X_VALUE    type that elements are computed in: double, float (of float16_t too), int64_t, int, uint64_t or uint
//   InputTensor: FLOAT32, FLOAT16, INT32, INT16, INT8, UINT32, UINT16, UINT8
//   OutputTensor: FLOAT32, FLOAT16, INT32, INT16, INT8, UINT32, UINT16, UINT8
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
    float exponent;
    uint reserved0;
    uint reserved1;
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
bool IsNan(int x) { return false; }
bool IsNan(uint x) { return false; }

// The bit pattern of a number.
uint Bits(float x)
{
    return asuint(x);
}

uint64_t Bits(double x)
{
    uint low;
    uint high;
    asuint(x, low, high);
    return (uint64_t)high << 32 | low;
}

// Whether x is not a number; on the bit pattern, since a compiler may take x != x for false.
bool IsNan(float x)
{
    return (Bits(x) & 0x7fffffffu) > 0x7f800000u;
}

bool IsNan(double x)
{
    return (Bits(x) & 0x7fffffffffffffffull) > 0x7ff0000000000000ull;
}

// A number in the second argument's type. Floats are cut toward 0; what the integer type cannot hold becomes its
// nearest limit, and NaN 0.
float Convert(float x, float type) { return (float)x; }
double Convert(float x, double type) { return (double)x; }

int Convert(float x, int type)
{
    return IsNan(x) ? 0 : x >= 2147483648.0f ? 2147483647 : x <= -2147483648.0f ? -2147483647 - 1 : (int)x;
}

uint Convert(float x, uint type)
{
    return IsNan(x) ? 0 : x >= 4294967296.0f ? 0xffffffff : x <= 0.0f ? 0 : (uint)x;
}

float Convert(double x, float type) { return (float)x; }
double Convert(double x, double type) { return (double)x; }

int Convert(double x, int type)
{
    return IsNan(x) ? 0 : x >= 2147483648.0L ? 2147483647 : x <= -2147483648.0L ? -2147483647 - 1 : (int)x;
}

uint Convert(double x, uint type)
{
    return IsNan(x) ? 0 : x >= 4294967296.0L ? 0xffffffff : x <= 0.0L ? 0 : (uint)x;
}

float Convert(int x, float type) { return (float)x; }
double Convert(int x, double type) { return (double)x; }
int Convert(int x, int type) { return (int)x; }
float Convert(uint x, float type) { return (float)x; }
double Convert(uint x, double type) { return (double)x; }
uint Convert(uint x, uint type) { return (uint)x; }

// The number with this bit pattern.
float FromBits(uint bits)
{
    return asfloat(bits);
}

double FromBits(uint64_t bits)
{
    return asdouble((uint)bits, (uint)(bits >> 32));
}

// |x|, from the bit pattern: NaN stays NaN, and no driver flushes a subnormal.
float Magnitude(float x)
{
    return FromBits(Bits(x) & 0x7fffffffu);
}

double Magnitude(double x)
{
    return FromBits(Bits(x) & 0x7fffffffffffffffull);
}

// (artanh(s) - s - s^3 / 3) / s^5 as a function of z = s^2, for z up to 0.0297: a minimax polynomial (Remez exchange).
// artanh(s) is within 2^-36 (float), 2^-73 (double) with it.
float AtanhTail(float z)
{
    float p = 0.11715452f;
    p = p * z + 0.1427332f;
    p = p * z + 0.20000078f;
    return p;
}

double AtanhTail(double z)
{
    double p = 0.06002323929555178L;
    p = p * z + 0.0583646763384448L;
    p = p * z + 0.06668205245307801L;
    p = p * z + 0.07692277221948941L;
    p = p * z + 0.09090909453005394L;
    p = p * z + 0.11111111108622264L;
    p = p * z + 0.14285714285723158L;
    p = p * z + 0.19999999999999987L;
    return p;
}

// The magnitude of the first argument with the sign of the second.
float CopySign(float magnitude, float sign)
{
    return FromBits((Bits(magnitude) & 0x7fffffffu) | (Bits(sign) & 0x80000000u));
}

double CopySign(double magnitude, double sign)
{
    return FromBits((Bits(magnitude) & 0x7fffffffffffffffull) | (Bits(sign) & 0x8000000000000000ull));
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

double ExpTail(double x)
{
    double p = 2.087532630839128e-09L;
    p = p * x + 2.5109272016600348e-08L;
    p = p * x + 2.755740349209141e-07L;
    p = p * x + 2.7557243600914927e-06L;
    p = p * x + 2.4801587170549516e-05L;
    p = p * x + 0.0001984126988666018L;
    p = p * x + 0.0013888888888963888L;
    p = p * x + 0.00833333333332145L;
    p = p * x + 0.041666666666666505L;
    p = p * x + 0.16666666666666677L;
    p = p * x + 0.5L;
    return p * x * x;
}

// Infinity with the sign of the argument.
float Infinity(float sign)
{
    return CopySign(FromBits(0x7f800000u), sign);
}

double Infinity(double sign)
{
    return CopySign(FromBits(0x7ff0000000000000ull), sign);
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

double ScaleByPowerOfTwo(double x, int exponent)
{
    const int first = exponent >> 1;
    precise double scaled = x * FromBits((uint64_t)(1023 + first) << 52);
    scaled = scaled * FromBits((uint64_t)(1023 + exponent - first) << 52);
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

double ExpOfSum(double high, double low)
{
    if (IsNan(high))
        return high;
    if (high > 710.0L)
        return Infinity(1.0L);
    if (high < -746.0L)
        return 0.0L;
    // Added to a small number, 1.5 * 2^52 rounds it to an integer in the lowest bits.
    precise double shifted = high * 1.4426950408889634L + 6755399441055744.0L;
    precise double k = shifted - 6755399441055744.0L;
    precise double a = high - k * 0.6931471805598903L;  // exact
    precise double b = low - k * 5.497923018708371e-14L;
    precise double r = a + b;
    precise double rest = (a - r) + b;
    precise double result = 1.0L + (r + (ExpTail(r) + rest));
    return ScaleByPowerOfTwo(result, (int)k);
}

// Whether x is infinite, of either sign; on the bit pattern, since a compiler may assume finite numbers.
bool IsInfinity(float x)
{
    return (Bits(x) & 0x7fffffffu) == 0x7f800000u;
}

bool IsInfinity(double x)
{
    return (Bits(x) & 0x7fffffffffffffffull) == 0x7ff0000000000000ull;
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

double NormalizeNearOne(double x, out int exponent)
{
    uint64_t bits = Bits(x);
    int shift = 0;
    if (bits < 0x0010000000000000ull)
    {
        shift = (int)LeadingZeros(bits) - 11;
        bits <<= shift;
    }
    const uint64_t rest = bits - 0x3fe6a09e667f3bcdull;
    exponent = (int)(rest >> 52) - (rest > 0x7fffffffffffffffull ? 4096 : 0) - shift;
    return FromBits((rest & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
}

// The NaN of a function outside its domain. The argument only chooses the type.
float QuietNan(float x)
{
    return FromBits(0x7fc00000u);
}

double QuietNan(double x)
{
    return FromBits(0x7ff8000000000000ull);
}

// x without its fraction, with its sign. Exact. On bits for double: DXC takes trunc(double) through float.
float Trunc(float x)
{
    return trunc(x);
}

double Trunc(double x)
{
    const uint64_t bits = Bits(x);
    const int exponent = (int)((uint)(bits >> 52) & 0x7ff) - 1023;
    if (exponent < 0)
        return FromBits(bits & 0x8000000000000000ull);
    if (exponent >= 52)
        return x;
    return FromBits(bits & ~(0x000fffffffffffffull >> exponent));
}

// a * b as a rounded product and its rounding error (Dekker 1971, "A floating-point technique for extending the
// available precision"; the operands are split by a mask). Not with fma: Vulkan lets it round twice. Exact for float,
// to 2^-105 of the product for double, unless the error is subnormal.
float TwoProduct(float a, float b, out float error)
{
    precise float aHigh = FromBits(Bits(a) & 0xfffff000u);
    precise float bHigh = FromBits(Bits(b) & 0xfffff000u);
    precise float aLow = a - aHigh;
    precise float bLow = b - bHigh;
    precise float product = a * b;
    precise float rest = ((aHigh * bHigh - product) + aHigh * bLow + aLow * bHigh) + aLow * bLow;
    error = rest;
    return product;
}

double TwoProduct(double a, double b, out double error)
{
    precise double aHigh = FromBits(Bits(a) & 0xfffffffff8000000ull);
    precise double bHigh = FromBits(Bits(b) & 0xfffffffff8000000ull);
    precise double aLow = a - aHigh;
    precise double bLow = b - bHigh;
    precise double product = a * b;
    precise double rest = ((aHigh * bHigh - product) + aHigh * bLow + aLow * bHigh) + aLow * bLow;
    error = rest;
    return product;
}

// x^y as in C: 1 for y = 0 or x = 1, whatever the other is; a negative x takes integers y, else NaN. The logarithm of
// |x| and its product with y as unevaluated sums of two numbers (2 artanh(s) as in LogOfParts; products after Dekker
// 1971), then ExpOfSum.
// Error at most 0.9 ulp (float), 1 ulp (double), as measured.
float Pow(float x, float y)
{
    if (y == 0.0f || x == 1.0f)
        return 1.0f;
    if (IsNan(x) || IsNan(y))
        return QuietNan(x);

    const float xMagnitude = Magnitude(x);
    const bool isInteger = Trunc(y) == y;
    const float halved = 0.5f * y;
    const bool isOdd = isInteger && Trunc(halved) != halved;
    const float sign = isOdd ? x : 1.0f;
    if (xMagnitude == 0.0f || IsInfinity(x) || IsInfinity(y))
    {
        if (xMagnitude == 1.0f)
            return 1.0f;
        return (xMagnitude > 1.0f) == (y > 0.0f) ? Infinity(sign) : CopySign(0.0f, sign);
    }
    if (x < 0.0f && !isInteger)
        return QuietNan(x);

    // s = f / (2 + f) = sHigh + sLow, z = s^2
    int exponent;
    const float f = NormalizeNearOne(xMagnitude, exponent) - 1.0f;
    precise float divisor = 2.0f + f;
    precise float divisorLow = f - (divisor - 2.0f);
    precise float sHigh = f / divisor;
    float error;
    precise float product = TwoProduct(sHigh, divisor, error);
    precise float sLow = (((f - product) - error) - sHigh * divisorLow) / divisor;
    precise float zHigh = TwoProduct(sHigh, sHigh, error);
    precise float zLow = error + 2.0f * sHigh * sLow;

    // ln(1 + f) = 2 s + s u, u = z w, w = 2/3 + 2 z AtanhTail(z)
    precise float wRest = 2.0f * zHigh * AtanhTail(zHigh);
    precise float wHigh = 0.6666667f + wRest;
    precise float wLow = (wRest - (wHigh - 0.6666667f)) - 1.9868216e-8f;
    precise float uHigh = TwoProduct(zHigh, wHigh, error);
    precise float uLow = error + (zHigh * wLow + zLow * wHigh);
    precise float tailHigh = TwoProduct(sHigh, uHigh, error);
    precise float tailLow = error + (sHigh * uLow + sLow * uHigh);

    // The logarithm of |x|, largest terms first: each sum keeps what it rounds off.
    const float k = (float)exponent;
    precise float whole = k * 0.69314575f;  // exact
    precise float head = 2.0f * sHigh;
    precise float sum = whole + head;
    precise float sumLow = head - (sum - whole);
    precise float logHigh = sum + tailHigh;
    precise float logLow = (tailHigh - (logHigh - sum)) + sumLow + 2.0f * sLow + tailLow
        + k * 1.4286068e-6f;

    // Where the product is infinite, so is the power, or it is 0, whatever the low part is.
    precise float high = TwoProduct(y, logHigh, error);
    precise float low = error + y * logLow;
    return CopySign(ExpOfSum(high, low), sign);
}

double Pow(double x, double y)
{
    if (y == 0.0L || x == 1.0L)
        return 1.0L;
    if (IsNan(x) || IsNan(y))
        return QuietNan(x);

    const double xMagnitude = Magnitude(x);
    const bool isInteger = Trunc(y) == y;
    const double halved = 0.5L * y;
    const bool isOdd = isInteger && Trunc(halved) != halved;
    const double sign = isOdd ? x : 1.0L;
    if (xMagnitude == 0.0L || IsInfinity(x) || IsInfinity(y))
    {
        if (xMagnitude == 1.0L)
            return 1.0L;
        return (xMagnitude > 1.0L) == (y > 0.0L) ? Infinity(sign) : CopySign(0.0L, sign);
    }
    if (x < 0.0L && !isInteger)
        return QuietNan(x);

    // s = f / (2 + f) = sHigh + sLow, z = s^2
    int exponent;
    const double f = NormalizeNearOne(xMagnitude, exponent) - 1.0L;
    precise double divisor = 2.0L + f;
    precise double divisorLow = f - (divisor - 2.0L);
    precise double sHigh = f / divisor;
    double error;
    precise double product = TwoProduct(sHigh, divisor, error);
    precise double sLow = (((f - product) - error) - sHigh * divisorLow) / divisor;
    precise double zHigh = TwoProduct(sHigh, sHigh, error);
    precise double zLow = error + 2.0L * sHigh * sLow;

    // ln(1 + f) = 2 s + s u, u = z w, w = 2/3 + 2 z AtanhTail(z)
    precise double wRest = 2.0L * zHigh * AtanhTail(zHigh);
    precise double wHigh = 0.6666666666666666L + wRest;
    precise double wLow = (wRest - (wHigh - 0.6666666666666666L)) + 3.700743415417188e-17L;
    precise double uHigh = TwoProduct(zHigh, wHigh, error);
    precise double uLow = error + (zHigh * wLow + zLow * wHigh);
    precise double tailHigh = TwoProduct(sHigh, uHigh, error);
    precise double tailLow = error + (sHigh * uLow + sLow * uHigh);

    // The logarithm of |x|, largest terms first: each sum keeps what it rounds off.
    const double k = (double)exponent;
    precise double whole = k * 0.6931471805598903L;  // exact
    precise double head = 2.0L * sHigh;
    precise double sum = whole + head;
    precise double sumLow = head - (sum - whole);
    precise double logHigh = sum + tailHigh;
    precise double logLow = (tailHigh - (logHigh - sum)) + sumLow + 2.0L * sLow + tailLow
        + k * 5.497923018708371e-14L;

    // Where the product is infinite, so is the power, or it is 0, whatever the low part is.
    precise double high = TwoProduct(y, logHigh, error);
    precise double low = error + y * logLow;
    return CopySign(ExpOfSum(high, low), sign);
}

// The integer nearest to x, the even one of two; with the sign of x. Exact. Adding and subtracting 2^52 leaves a double
// no room for a fraction.
double RoundEven(double x)
{
    const double magnitude = Magnitude(x);
    if (!(magnitude < 4503599627370496.0L))
        return x;
    precise double rounded = magnitude + 4503599627370496.0L;
    rounded = rounded - 4503599627370496.0L;
    return CopySign(rounded, x);
}

// Powers of or with integers of 32 bits.

// The exponent in two parts, each of which a float holds exactly
float PowOfParts(float x, uint exponent, float sign)
{
    return Pow(x, sign * (float)(exponent & ~0xffu)) * Pow(x, sign * (float)(exponent & 0xff));
}

float Pow(float x, uint y) { return PowOfParts(x, y, 1.0f); }
float Pow(float x, int y) { return PowOfParts(x, y < 0 ? 0 - (uint)y : (uint)y, y < 0 ? -1.0f : 1.0f); }

// With high bits cut off
uint Pow(uint x, uint y)
{
    uint result = 1;
    for (; y != 0; y >>= 1)
    {
        result *= (y & 1) != 0 ? x : 1;
        x *= x;
    }
    return result;
}

int Pow(int x, uint y) { return (int)Pow((uint)x, y); }

// A negative exponent makes 1 / x^-y, cut toward 0.
uint Pow(uint x, int y) { return y >= 0 ? Pow(x, (uint)y) : x == 1 ? 1 : 0; }

int Pow(int x, int y)
{
    if (y >= 0)
        return Pow(x, (uint)y);
    return x == 1 || (x == -1 && (y & 1) == 0) ? 1 : x == -1 ? -1 : 0;
}

// The integer that double precision may have missed by rounding errors
double WholeIfNear(double x)
{
    const double whole = RoundEven(x);
    return Magnitude(x - whole) <= Magnitude(x) * 8.881784197001252e-16L ? whole : x;
}

int Pow(int x, float y) { return Convert(WholeIfNear(Pow((double)x, (double)y)), x); }
uint Pow(uint x, float y) { return Convert(WholeIfNear(Pow((double)x, (double)y)), x); }

// x * scale + bias; of integers computed in double precision, cut toward 0 and limited to the type
float Scaled(float x, float scale, float bias)
{
    precise float result = x * scale + bias;
    return result;
}

int Scaled(int x, float scale, float bias) { return Convert((double)x * (double)scale + (double)bias, x); }
uint Scaled(uint x, float scale, float bias) { return Convert((double)x * (double)scale + (double)bias, x); }

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
    return (OUTPUT_VALUE)Pow(x, exponent);
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
