// DML_OPERATOR_GATHER_ND: Picks blocks of the input by tuples of coordinates.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... gather_nd.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// A gather moves bits, so only the sizes of types matter. Each thread writes UNROLL vectors of OutputTensor elements,
// NUM_THREADS vectors apart. Every offset and stride is in elements; neighbouring dimensions that all tensors run
// through in one step are merged beforehand, and dimensions of size 1 left out.
//
//   ELEMENT_SIZE   bytes of an element
//                  1: INT8, UINT8
//                  2: FLOAT16, INT16, UINT16
//                  4: FLOAT32, INT32, UINT32
//                  8: FLOAT64, INT64, UINT64
//                  2 to 16 also for aligned runs of smaller elements that are copied whole
//   INDEX_SIZE     bytes of an index, 4 or 8
//   INDEX_SIGNED   1 if indices are signed, else 0 (INT64, INT32, UINT64, UINT32)
//   RANK           dimensions after merging, 1 to 8
//   LOOKUPS        indices that lead to an element, 1 to 8
//   VECTOR         elements stored at once; 1 for any output strides, 2 or 4 (at most 16 bytes; 4 for single bytes) where
//                  the innermost output stride is 1 and every other one and the innermost size are multiples of VECTOR
//   INDEX_VECTOR   indices loaded at once; 1 for any index strides, 2 or 4 (at most 16 bytes and VECTOR) where the
//                  innermost index stride is 1 and every other one and every indexOffset are multiples of INDEX_VECTOR
//   UNROLL         vectors a thread writes, 1 or more
//   NUM_THREADS    threads in a group
//
// Dispatch groupColumns x rows groups, enough that their threads cover `count` vectors.

#if ELEMENT_SIZE == 16
typedef uint4 Element;
#elif ELEMENT_SIZE == 8
typedef uint64_t Element;
#elif ELEMENT_SIZE == 2
typedef uint16_t Element;
#else
typedef uint Element;  // of one byte: there is no 8-bit type, four elements share a word
#endif

#if ELEMENT_SIZE == 1 || VECTOR == 1
typedef Element Elements;
#else
typedef vector<Element, VECTOR> Elements;
#endif

#if INDEX_SIZE == 8
typedef uint64_t Index;
#else
typedef uint Index;
#endif
typedef vector<Index, INDEX_VECTOR> Indices;

struct Dimension
{
    uint size;        // of the innermost dimension: in vectors
    uint multiplier;  // these three divide by size
    uint halving;
    uint shift;
    uint inputStride;
    uint indexStride;
    uint outputStride;
    uint reserved;
};

struct Lookup
{
    uint size;  // of the input dimension that the index runs through
    uint inputStride;
    uint indexOffset;
    uint reserved;
};

[[vk::binding(0, 0)]] StructuredBuffer<Element> inputTensor : register(t0);
[[vk::binding(1, 0)]] StructuredBuffer<Indices> indicesTensor : register(t1);
[[vk::binding(2, 0)]] RWStructuredBuffer<Elements> outputTensor : register(u0);
[[vk::binding(3, 0)]] cbuffer Params : register(b0)
{
    uint count;         // vectors in OutputTensor
    uint groupColumns;  // thread groups along x
    uint inputStep;     // input stride between the elements of a vector
    uint indexStep;     // index stride between the elements of a vector
    Dimension dimensions[RANK];  // outermost first
    Lookup lookups[LOOKUPS];
};

struct Position
{
    uint input;
    uint index;
    uint output;
};

// n / size for every n below 2^32
uint Divide(uint n, Dimension dimension)
{
    const uint high = (uint)(((uint64_t)n * dimension.multiplier) >> 32);
    return (high + ((n - high) >> dimension.halving)) >> dimension.shift;
}

// Where the first element of a vector lies, lookups apart
Position Locate(uint item)
{
    Position position = { 0, 0, 0 };
    [unroll]
    for (int d = RANK - 1; d >= 0; d--)
    {
        const uint rest = d > 0 ? Divide(item, dimensions[d]) : 0;
        const uint coordinate = item - rest * dimensions[d].size;
        position.input += coordinate * dimensions[d].inputStride;
        position.index += coordinate * dimensions[d].indexStride;
        position.output += coordinate * dimensions[d].outputStride;
        item = rest;
    }
    return position;
}

// The coordinate that an index stands for: a negative one counts from the end, what is still outside is clamped
uint Wrap(Index index, uint size)
{
#if INDEX_SIGNED
    const bool negative = index >> (8 * INDEX_SIZE - 1);
    const Index fromEnd = index + size;  // of a negative index: below size only if the sum passed zero
    index = negative ? (fromEnd < size ? fromEnd : 0) : index;
#endif
    return (uint)min(index, (Index)size - 1);
}

// Moves the input offset of each element of a vector to where its index points
void Follow(Lookup lookup, uint index, inout uint offsets[VECTOR])
{
    [unroll]
    for (uint first = 0; first < VECTOR; first += INDEX_VECTOR)
    {
        const Indices indices = indicesTensor[(index + lookup.indexOffset + first * indexStep) / INDEX_VECTOR];
        [unroll]
        for (uint k = 0; k < INDEX_VECTOR; k++)
            offsets[first + k] += Wrap(indices[k], lookup.size) * lookup.inputStride;
    }
}

Element Load(uint offset)
{
#if ELEMENT_SIZE == 1
    return inputTensor[offset / 4] >> offset % 4 * 8 & 0xff;
#else
    return inputTensor[offset];
#endif
}

void Store(uint offset, Element elements[VECTOR])
{
#if ELEMENT_SIZE == 1 && VECTOR == 1
    // Other threads write the other bytes of this word.
    const uint shift = offset % 4 * 8;
    InterlockedAnd(outputTensor[offset / 4], ~(0xffu << shift));
    InterlockedOr(outputTensor[offset / 4], elements[0] << shift);
#elif ELEMENT_SIZE == 1
    outputTensor[offset / 4] = elements[0] | elements[1] << 8 | elements[2] << 16 | elements[3] << 24;
#elif VECTOR == 1
    outputTensor[offset] = elements[0];
#else
    Elements packed;
    [unroll]
    for (uint k = 0; k < VECTOR; k++)
        packed[k] = elements[k];
    outputTensor[offset / VECTOR] = packed;
#endif
}

[numthreads(NUM_THREADS, 1, 1)]
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    const uint first = (group.y * groupColumns + group.x) * (NUM_THREADS * UNROLL) + thread;

    // All index loads, then all element loads, then the stores: each thread keeps many loads under way.
    uint outputs[UNROLL];
    uint offsets[UNROLL][VECTOR];
    [unroll]
    for (uint u = 0; u < UNROLL; u++)
    {
        const Position position = Locate(min(first + u * NUM_THREADS, count - 1));
        outputs[u] = position.output;
        [unroll]
        for (uint k = 0; k < VECTOR; k++)
            offsets[u][k] = position.input + k * inputStep;
        [unroll]
        for (uint l = 0; l < LOOKUPS; l++)
            Follow(lookups[l], position.index, offsets[u]);
    }

    Element elements[UNROLL][VECTOR];
    [unroll]
    for (uint u = 0; u < UNROLL; u++)
    {
        [unroll]
        for (uint k = 0; k < VECTOR; k++)
            elements[u][k] = Load(offsets[u][k]);
    }

    [unroll]
    for (uint u = 0; u < UNROLL; u++)
    {
        if (first + u * NUM_THREADS < count)
            Store(outputs[u], elements[u]);
    }
}
