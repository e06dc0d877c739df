// DML_OPERATOR_RANDOM_GENERATOR: Fills the output with evenly distributed pseudo-random bits that depend on the given state alone.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... random_generator.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// Philox 4x32-10 of Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3" (2011). Each thread makes the four words
// of one counter, which follow one another in OutputTensor. Strides are in elements.
//
//   RANK       dimensions of OutputTensor, 1 to 8
//   VECTOR     4 where OutputTensor is packed and its size a multiple of 4, with RANK 1; else 1
//   NUM_THREADS  threads in a group
//
// Dispatch groupColumns x rows groups, enough that their threads cover `blocks` counters.

struct Dimension
{
    uint size;
    uint multiplier;  // these three divide by size
    uint halving;
    uint shift;
    uint outputStride;
    uint reserved0;
    uint reserved1;
    uint reserved2;
};

#if VECTOR == 4
typedef uint4 Elements;
#else
typedef uint Elements;
#endif

[[vk::binding(0, 0)]] StructuredBuffer<uint> inputStateTensor : register(t0);
[[vk::binding(1, 0)]] RWStructuredBuffer<Elements> outputTensor : register(u0);
[[vk::binding(2, 0)]] RWStructuredBuffer<uint> outputStateTensor : register(u1);
[[vk::binding(3, 0)]] cbuffer Params : register(b0)
{
    uint count;         // elements of OutputTensor
    uint groupColumns;  // thread groups along x
    uint blocks;        // counters, each for four elements
    uint inputStateStride;
    uint outputStateGiven;  // 1 if there is a OutputStateTensor to write, else 0
    uint outputStateStride;
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

// A counter of 128 bits, lowest word first, plus a number
uint4 Advance(uint4 counter, uint number)
{
    const uint4 sum = { counter.x + number, counter.yzw };
    const bool carry = sum.x < number;
    const bool3 all = { carry, carry && sum.y == 0xffffffff, carry && sum.y == 0xffffffff && sum.z == 0xffffffff };
    return uint4(sum.x, sum.yzw + (uint3)all);
}

uint4 Block(uint4 counter, uint2 key)
{
    [unroll]
    for (uint number = 0; number < 10; number++)
    {
        const uint64_t first = (uint64_t)0xD2511F53 * counter.x;
        const uint64_t second = (uint64_t)0xCD9E8D57 * counter.z;
        counter = uint4((uint)(second >> 32) ^ counter.y ^ key.x, (uint)second,
                        (uint)(first >> 32) ^ counter.w ^ key.y, (uint)first);
        key += uint2(0x9E3779B9, 0xBB67AE85);
    }
    return counter;
}

// Where an element lies
uint Offset(uint item)
{
    uint offset = 0;
    [unroll]
    for (int d = RANK - 1; d >= 0; d--)
    {
        const uint rest = d > 0 ? DivideBySize(item, dimensions[d]) : 0;
        offset += (item - rest * dimensions[d].size) * dimensions[d].outputStride;
        item = rest;
    }
    return offset;
}

[numthreads(NUM_THREADS, 1, 1)]
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    const uint block = (group.y * groupColumns + group.x) * NUM_THREADS + thread;
    if (block >= blocks)
        return;

    uint words[6];
    [unroll]
    for (uint k = 0; k < 6; k++)
        words[k] = inputStateTensor[k * inputStateStride];
    const uint4 counter = { words[0], words[1], words[2], words[3] };
    const uint4 random = Block(Advance(counter, block), uint2(words[4], words[5]));
#if VECTOR == 4
    outputTensor[block] = random;
#else
    [unroll]
    for (uint e = 0; e < 4; e++)
    {
        if (block * 4 + e < count)
            outputTensor[Offset(block * 4 + e)] = random[e];
    }
#endif

    if (block == 0 && outputStateGiven)
    {
        const uint4 next = Advance(counter, blocks);
        [unroll]
        for (uint n = 0; n < 6; n++)
            outputStateTensor[n * outputStateStride] = n < 4 ? next[n] : words[n];
    }
}
