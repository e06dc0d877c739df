// DML_OPERATOR_ACTIVATION_SHRINK: Moves elements beyond Threshold by Bias towards 0 and gives 0 for all others.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... activation_shrink.hlsl
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
    float threshold;
    float bias;
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

// Whether x is larger than a number; of integers, what is below every one of them, or not, needs no rounding
bool Above(float x, float limit) { return x > limit; }

bool Above(int x, float limit)
{
    return limit < -2147483648.0f || (limit < 2147483648.0f && x > (int)floor(limit));
}

bool Above(uint x, float limit)
{
    return limit < 0.0f || (limit < 4294967296.0f && x > (uint)floor(limit));
}

// Whether x is smaller than a number; of integers, what is above every one of them, or not, needs no rounding
bool Below(float x, float limit) { return x < limit; }

bool Below(int x, float limit)
{
    return limit >= 2147483648.0f || (limit > -2147483648.0f && x < (int)ceil(limit));
}

bool Below(uint x, float limit)
{
    return limit >= 4294967296.0f || (limit > 0.0f && x < (uint)ceil(limit));
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
    const INPUT_VALUE x = input;
    return (OUTPUT_VALUE)(Above(x, threshold) ? Scaled(x, 1.0, -bias) : (Below(x, -threshold) ? Scaled(x, 1.0, bias) : (INPUT_VALUE)0));
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
