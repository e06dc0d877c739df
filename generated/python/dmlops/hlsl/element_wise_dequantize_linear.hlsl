// DML_OPERATOR_ELEMENT_WISE_DEQUANTIZE_LINEAR: Subtracts a zero point from each element and multiplies by a scale.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... element_wise_dequantize_linear.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// Element by element. Each thread writes UNROLL vectors of OutputTensor elements, NUM_THREADS vectors apart, or a
// block: VECTOR vectors that are neighbours along another dimension. Sizes and strides are in elements; neighbouring
// dimensions that all tensors run through in one step are merged beforehand, and dimensions of size 1 left out.
//
// For each tensor, X being INPUT or SCALE or ZERO_POINT or OUTPUT:
//   X_STORED   type of an element in its buffer: double, float, float16_t, int64_t, int, int16_t, uint64_t, uint,
//              uint16_t; uint also where a word of 32 bits holds several elements
//   X_BITS     bits of an element: 8, 16, 32
//   X_VALUE    type that elements are computed in: double, float (of float16_t too), int64_t, int, uint64_t or uint
//   InputTensor: INT32, INT16, INT8, UINT32, UINT16, UINT8
//   ScaleTensor: FLOAT32, FLOAT16
//   ZeroPointTensor: INT32, INT16, INT8, UINT32, UINT16, UINT8
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
//   HAS_ZERO_POINT 1 or 0
//
// Dispatch groupColumns x rows groups, enough that their threads cover `count` vectors.

struct Dimension
{
    uint size;        // of the innermost dimension: in vectors; of the one before, where there are blocks, in blocks
    uint multiplier;  // these three divide by size
    uint halving;
    uint shift;
    uint inputStride;
    uint scaleStride;
    uint zeroPointStride;
    uint outputStride;
};

#if INPUT_VECTOR > 1 && INPUT_BITS >= 16
typedef vector<INPUT_STORED, INPUT_VECTOR> InputElements;
#else
typedef INPUT_STORED InputElements;
#endif
#if SCALE_VECTOR > 1 && SCALE_BITS >= 16
typedef vector<SCALE_STORED, SCALE_VECTOR> ScaleElements;
#else
typedef SCALE_STORED ScaleElements;
#endif
#if ZERO_POINT_VECTOR > 1 && ZERO_POINT_BITS >= 16
typedef vector<ZERO_POINT_STORED, ZERO_POINT_VECTOR> ZeroPointElements;
#else
typedef ZERO_POINT_STORED ZeroPointElements;
#endif
#if VECTOR > 1 && OUTPUT_BITS >= 16
typedef vector<OUTPUT_STORED, VECTOR> OutputElements;
#else
typedef OUTPUT_STORED OutputElements;
#endif

[[vk::binding(0, 0)]] StructuredBuffer<InputElements> inputTensor : register(t0);
[[vk::binding(1, 0)]] StructuredBuffer<ScaleElements> scaleTensor : register(t1);
[[vk::binding(2, 0)]] StructuredBuffer<ZeroPointElements> zeroPointTensor : register(t2);
[[vk::binding(3, 0)]] RWStructuredBuffer<OutputElements> outputTensor : register(u0);
[[vk::binding(4, 0)]] cbuffer Params : register(b0)
{
    uint count;         // vectors in OutputTensor
    uint groupColumns;  // thread groups along x
    uint inputStep;
    uint scaleStep;
    uint zeroPointStep;
    uint reserved0;
    uint reserved1;
    uint reserved2;
    Dimension dimensions[RANK];  // outermost first
};

struct Position
{
    uint inputTensor;
    uint scaleTensor;
    uint zeroPointTensor;
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
    Position position = { 0, 0, 0, 0 };
    [unroll]
    for (int d = RANK - 1; d >= 0; d--)
    {
        const uint rest = d > 0 ? DivideBySize(item, dimensions[d]) : 0;
        const uint coordinate = item - rest * dimensions[d].size;
        position.inputTensor += coordinate * dimensions[d].inputStride;
        position.scaleTensor += coordinate * dimensions[d].scaleStride;
        position.zeroPointTensor += coordinate * dimensions[d].zeroPointStride;
        position.outputTensor += coordinate * dimensions[d].outputStride;
        item = rest;
    }
    return position;
}

// x - y of integers, exactly, then rounded to a float: its magnitude fits 32 bits
float Difference(int x, int y, float type)
{
    return x >= y ? (float)((uint)x - (uint)y) : -(float)((uint)y - (uint)x);
}

float Difference(uint x, uint y, float type) { return x >= y ? (float)(x - y) : -(float)(y - x); }

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

void LoadScale(uint offset, out SCALE_VALUE values[VECTOR])
{
#if SCALE_VECTOR > 1 && SCALE_BITS < 16
    const uint word = scaleTensor[offset / 4];
#elif SCALE_VECTOR > 1
    const ScaleElements elements = scaleTensor[offset / VECTOR];
#endif
    [unroll]
    for (uint k = 0; k < VECTOR; k++)
    {
#if SCALE_VECTOR > 1 && SCALE_BITS < 16
        values[k] = (SCALE_VALUE)(word << (24 - 8 * k)) >> 24;
#elif SCALE_VECTOR > 1
        values[k] = (SCALE_VALUE)elements[k];
#elif SCALE_BITS < 16
        const uint place = offset + k * scaleStep;
        const uint perWord = 32 / SCALE_BITS;
        const uint above = scaleTensor[place / perWord] << ((perWord - 1 - place % perWord) * SCALE_BITS);
        values[k] = (SCALE_VALUE)above >> (32 - SCALE_BITS);
#else
        values[k] = (SCALE_VALUE)scaleTensor[offset + k * scaleStep];
#endif
    }
}

void LoadZeroPoint(uint offset, out ZERO_POINT_VALUE values[VECTOR])
{
#if ZERO_POINT_VECTOR > 1 && ZERO_POINT_BITS < 16
    const uint word = zeroPointTensor[offset / 4];
#elif ZERO_POINT_VECTOR > 1
    const ZeroPointElements elements = zeroPointTensor[offset / VECTOR];
#endif
    [unroll]
    for (uint k = 0; k < VECTOR; k++)
    {
#if ZERO_POINT_VECTOR > 1 && ZERO_POINT_BITS < 16
        values[k] = (ZERO_POINT_VALUE)(word << (24 - 8 * k)) >> 24;
#elif ZERO_POINT_VECTOR > 1
        values[k] = (ZERO_POINT_VALUE)elements[k];
#elif ZERO_POINT_BITS < 16
        const uint place = offset + k * zeroPointStep;
        const uint perWord = 32 / ZERO_POINT_BITS;
        const uint above = zeroPointTensor[place / perWord] << ((perWord - 1 - place % perWord) * ZERO_POINT_BITS);
        values[k] = (ZERO_POINT_VALUE)above >> (32 - ZERO_POINT_BITS);
#else
        values[k] = (ZERO_POINT_VALUE)zeroPointTensor[offset + k * zeroPointStep];
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

OUTPUT_VALUE Compute(INPUT_VALUE input, SCALE_VALUE scale, ZERO_POINT_VALUE zeroPoint)
{
    const INPUT_VALUE zero = (HAS_ZERO_POINT ? zeroPoint : (INPUT_VALUE)0);
    return (OUTPUT_VALUE)(Difference(input, zero, (SCALE_VALUE)0) * scale);
}

[numthreads(NUM_THREADS, 1, 1)]
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    const uint apart = BLOCKS ? 0 : NUM_THREADS;
    const uint first = (group.y * groupColumns + group.x) * NUM_THREADS * (BLOCKS ? 1 : UNROLL) + thread;

    // All loads, then the stores: each thread keeps many loads under way.
    Position positions[UNROLL];
    INPUT_VALUE input[UNROLL][VECTOR];
    SCALE_VALUE scale[UNROLL][VECTOR];
    ZERO_POINT_VALUE zeroPoint[UNROLL][VECTOR];
    [unroll]
    for (uint u = 0; u < UNROLL; u++)
    {
        positions[u] = Locate(min(first + u * apart, count - 1));
#if BLOCKS
        positions[u].inputTensor += u * (dimensions[RANK - 2].inputStride / VECTOR);
        positions[u].scaleTensor += u * (dimensions[RANK - 2].scaleStride / VECTOR);
        positions[u].zeroPointTensor += u * (dimensions[RANK - 2].zeroPointStride / VECTOR);
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
#if SCALE_TURNED
        SCALE_VALUE turnedScale[VECTOR];
        LoadScale(positions[0].scaleTensor + u * scaleStep, turnedScale);
        [unroll]
        for (uint k = 0; k < VECTOR; k++)
            scale[k][u] = turnedScale[k];
#else
        LoadScale(positions[u].scaleTensor, scale[u]);
#endif
#if ZERO_POINT_TURNED
        ZERO_POINT_VALUE turnedZeroPoint[VECTOR];
        LoadZeroPoint(positions[0].zeroPointTensor + u * zeroPointStep, turnedZeroPoint);
        [unroll]
        for (uint k = 0; k < VECTOR; k++)
            zeroPoint[k][u] = turnedZeroPoint[k];
#else
        LoadZeroPoint(positions[u].zeroPointTensor, zeroPoint[u]);
#endif
    }

    [unroll]
    for (uint u = 0; u < UNROLL; u++)
    {
        OUTPUT_VALUE values[VECTOR];
        [unroll]
        for (uint k = 0; k < VECTOR; k++)
            values[k] = Compute(input[u][k], scale[u][k], zeroPoint[u][k]);
        if (first + u * apart < count)
            Store(positions[u].outputTensor, values);
    }
}
