// DML_OPERATOR_ELEMENT_WISE_DIFFERENCE_SQUARE: Squares the difference of the elements of each pair.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... element_wise_difference_square.hlsl
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
//   ATensor: FLOAT32, FLOAT16, INT32, UINT32
//   BTensor: FLOAT32, FLOAT16, INT32, UINT32
//   OutputTensor: FLOAT32, FLOAT16, INT32, UINT32
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

OUTPUT_VALUE Compute(A_VALUE a, B_VALUE b)
{
    const A_VALUE difference = a - b;
    return (OUTPUT_VALUE)(difference * difference);
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
        [unroll]
        for (uint k = 0; k < VECTOR; k++)
            values[k] = Compute(a[u][k], b[u][k]);
        if (first + u * apart < count)
            Store(positions[u].outputTensor, values);
    }
}
