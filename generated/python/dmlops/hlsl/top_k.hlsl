// DML_OPERATOR_TOP_K: Picks the K largest elements of each sequence along an axis, with their indices, largest first.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... top_k.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// A line runs along the axis and is cut into tiles. The first dispatch finds the first `kept` elements of each tile in
// order, as a run: keys, whose order is that of the elements, and places in the line. Every further
// dispatch merges pairs of runs into one, until a line has one run left; the last dispatch writes the outputs.
// Sizes and strides are in elements.
//
// For each tensor, X being OUTPUT_VALUE or INPUT or OUTPUT_INDEX:
//   X_STORED   type of an element in its buffer: double, float, float16_t, int64_t, int, int16_t, uint64_t, uint,
//              uint16_t; uint also where a word of 32 bits holds several elements
//   X_BITS     bits of an element: 8, 16, 32, 64
//   X_VALUE    type that elements are computed in: double, float (of float16_t too), int64_t, int, uint64_t or uint
//              of InputTensor, OutputValueTensor, whose elements are taken as bits: uint64_t or uint
//   OutputValueTensor: FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8
//   InputTensor: FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8
//   OutputIndexTensor: UINT64, UINT32
//   MERGES     0 to sort tiles, 1 to merge pairs of runs
//   LAST       1 to write the outputs, 0 to write runs
//   LARGEST    1 for the greatest elements first, 0 for the least first
//   KEY        type of a key: uint64_t for elements of 64 bits, else uint
//   SIGN       what kind of number an element is: 0 unsigned, 1 signed, 2 floating-point
//   TILE       elements of a tile, a power of two
//   RUN        elements that are sorted together, a power of two: `kept` or more, TILE or fewer
//   RANK       dimensions apart from the axis, after merging, 1 to 8; where tiles are sorted into runs, that of
//              the tiles comes last
//   NUM_THREADS  threads in a group; a power of two, and at least TILE / 2 where tiles are sorted
//
// Dispatch groupColumns x rows groups, enough that their threads cover `count` elements of runs to be merged, or two
// elements of the tiles each.

struct Dimension
{
    uint size;
    uint multiplier;  // these three divide by size
    uint halving;
    uint shift;
    uint inputStride;
    uint outputValueStride;
    uint outputIndexStride;
    uint reserved0;
};

[[vk::binding(0, 0)]] StructuredBuffer<INPUT_STORED> inputTensor : register(t0);
[[vk::binding(1, 0)]] StructuredBuffer<KEY> keys : register(t1);
[[vk::binding(2, 0)]] StructuredBuffer<uint> places : register(t2);
[[vk::binding(3, 0)]] RWStructuredBuffer<OUTPUT_VALUE_STORED> outputValueTensor : register(u0);
[[vk::binding(4, 0)]] RWStructuredBuffer<OUTPUT_INDEX_STORED> outputIndexTensor : register(u1);
[[vk::binding(5, 0)]] RWStructuredBuffer<KEY> keptKeys : register(u2);
[[vk::binding(6, 0)]] RWStructuredBuffer<uint> keptPlaces : register(u3);
[[vk::binding(7, 0)]] cbuffer Params : register(b0)
{
    uint count;         // elements of tiles, or of runs to be merged; of all lines
    uint groupColumns;  // thread groups along x
    uint length;        // of a line
    uint kept;          // elements that are kept of each tile or pair of runs, at most
    uint runs;          // to be merged, a line
    uint runLength;     // elements that a run has room for
    uint runSpan;       // elements of the line that a run is from
    uint inputStep;  // strides along the axis
    uint outputValueStep;
    uint outputIndexStep;
    uint2 reserved;
    Dimension dimensions[RANK];  // outermost first
};

// n / size for every n below 2^32
uint DivideBySize(uint n, Dimension dimension)
{
    const uint high = (uint)(((uint64_t)n * dimension.multiplier) >> 32);
    return (high + ((n - high) >> dimension.halving)) >> dimension.shift;
}

#if !MERGES || LAST
struct Position
{
    uint input;
    uint outputValue;
    uint outputIndex;
};

// Where an item begins
Position Locate(uint item)
{
    Position position = { 0, 0, 0 };
    [unroll]
    for (int d = RANK - 1; d >= 0; d--)
    {
        const uint rest = d > 0 ? DivideBySize(item, dimensions[d]) : 0;
        const uint coordinate = item - rest * dimensions[d].size;
        position.input += coordinate * dimensions[d].inputStride;
        position.outputValue += coordinate * dimensions[d].outputValueStride;
        position.outputIndex += coordinate * dimensions[d].outputIndexStride;
        item = rest;
    }
    return position;
}

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
#endif

struct Entry
{
    KEY key;
    uint place;
};

bool IsBefore(Entry entry, Entry other)
{
    return entry.key < other.key || (entry.key == other.key && entry.place < other.place);
}

#if LAST
void StoreOutputValue(uint offset, OUTPUT_VALUE_VALUE value)
{
#if OUTPUT_VALUE_BITS < 16
    // Other threads write the other elements of this word.
    const uint perWord = 32 / OUTPUT_VALUE_BITS;
    const uint shift = offset % perWord * OUTPUT_VALUE_BITS;
    const uint mask = (1u << OUTPUT_VALUE_BITS) - 1;
    InterlockedAnd(outputValueTensor[offset / perWord], ~(mask << shift));
    InterlockedOr(outputValueTensor[offset / perWord], ((uint)value & mask) << shift);
#else
    outputValueTensor[offset] = (OUTPUT_VALUE_STORED)value;
#endif
}

void StoreOutputIndex(uint offset, OUTPUT_INDEX_VALUE value)
{
#if OUTPUT_INDEX_BITS < 16
    // Other threads write the other elements of this word.
    const uint perWord = 32 / OUTPUT_INDEX_BITS;
    const uint shift = offset % perWord * OUTPUT_INDEX_BITS;
    const uint mask = (1u << OUTPUT_INDEX_BITS) - 1;
    InterlockedAnd(outputIndexTensor[offset / perWord], ~(mask << shift));
    InterlockedOr(outputIndexTensor[offset / perWord], ((uint)value & mask) << shift);
#else
    outputIndexTensor[offset] = (OUTPUT_INDEX_STORED)value;
#endif
}

// Writes the element at a place in the line as the one of this rank
void Write(Position start, uint rank, uint place)
{
    StoreOutputValue(start.outputValue + rank * outputValueStep, LoadInput(start.input + place * inputStep));
    StoreOutputIndex(start.outputIndex + rank * outputIndexStep, place);
}
#endif

#if MERGES
[numthreads(NUM_THREADS, 1, 1)]
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    const uint item = (group.y * groupColumns + group.x) * NUM_THREADS + thread;
    if (item >= count)
        return;

    const uint run = item / runLength;
    const uint within = item - run * runLength;
    const uint lineNumber = run / runs;
    const uint runOfLine = run - lineNumber * runs;
    if (within >= min(runLength, length - runOfLine * runSpan))
        return;

    // Its rank in the merged run: its own, and how many elements of the other run come before it.
    const Entry entry = { keys[item], places[item] };
    const uint other = runOfLine ^ 1;
    const uint otherStart = (lineNumber * runs + other) * runLength;
    uint low = 0;
    uint high = other < runs ? min(runLength, length - other * runSpan) : 0;
    [loop]
    while (low < high)
    {
        const uint middle = (low + high) / 2;
        const Entry candidate = { keys[otherStart + middle], places[otherStart + middle] };
        if (IsBefore(candidate, entry))
            low = middle + 1;
        else
            high = middle;
    }
    const uint rank = within + low;
    if (rank >= kept)
        return;
#if LAST
    Write(Locate(lineNumber), rank, entry.place);
#else
    const uint to = (lineNumber * ((runs + 1) / 2) + runOfLine / 2) * kept + rank;
    keptKeys[to] = entry.key;
    keptPlaces[to] = entry.place;
#endif
}
#else
// An unsigned integer with the order of the elements, from the bits of one
KEY KeyOf(INPUT_VALUE bits)
{
    const KEY sign = (KEY)1 << (INPUT_BITS - 1);
    KEY key = bits;
#if SIGN == 1
    key ^= sign;
#elif SIGN == 2
    const KEY infinity = INPUT_BITS == 16 ? 0x7c00 : 0x7f800000;
    const KEY magnitude = bits & ~sign;
    key = (bits & sign) != 0 ? sign - magnitude : sign + magnitude;
    if (magnitude > infinity)
        key = 2 * sign - 1;  // NaN
#endif
    return LARGEST ? ~key : key;
}

groupshared Entry memory[2 * NUM_THREADS];

[numthreads(NUM_THREADS, 1, 1)]
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    const uint number = group.y * groupColumns + group.x;
    uint slot;
    for (slot = thread; slot < 2 * NUM_THREADS; slot += NUM_THREADS)
    {
        const uint item = number * (2 * NUM_THREADS) + slot;
        const uint tile = item / TILE;
        uint place = item % TILE;
#if !LAST
        place += (tile - DivideBySize(tile, dimensions[RANK - 1]) * dimensions[RANK - 1].size) * TILE;
#endif
        // What fills up a tile comes last: no element has so large a place.
        Entry entry = { ~(KEY)0, 0xffffffff };
        if (item < count && place < length)
        {
            entry.key = KeyOf(LoadInput(Locate(tile).input + item % TILE * inputStep));
            entry.place = place;
        }
        memory[slot] = entry;
    }

    // Bitonic sort (Batcher 1968) of runs, every other one in descending order. Of a pair of runs the first elements,
    // as many as a run has, are the lesser of those opposite each other; these are bitonic again. So the elements that
    // are left of a tile are halved until they are one run.
    uint left = TILE;
    uint size = 2;
    [loop]
    while (true)
    {
        const uint pairs = NUM_THREADS * left / TILE;
        [loop]
        for (; size <= RUN; size *= 2)
        {
            [loop]
            for (uint distance = size / 2; distance > 0; distance /= 2)
            {
                GroupMemoryBarrierWithGroupSync();
                const uint first = 2 * thread - (thread & (distance - 1));
                const bool descending = (first % left & size) != 0;
                if (thread < pairs)
                {
                    const Entry entry = memory[first];
                    const Entry other = memory[first + distance];
                    if (IsBefore(other, entry) != descending)
                    {
                        memory[first] = other;
                        memory[first + distance] = entry;
                    }
                }
            }
        }
        GroupMemoryBarrierWithGroupSync();
        if (left == RUN)
            break;

        const uint first = thread / RUN * (2 * RUN) + thread % RUN;
        Entry lesser = (Entry)0;
        if (thread < pairs)
        {
            lesser = memory[first];
            if (IsBefore(memory[first + RUN], lesser))
                lesser = memory[first + RUN];
        }
        GroupMemoryBarrierWithGroupSync();
        if (thread < pairs)
            memory[thread] = lesser;
        left /= 2;
        size = RUN;
    }

    const uint tiles = 2 * NUM_THREADS / TILE;
    for (slot = thread; slot < tiles * RUN; slot += NUM_THREADS)
    {
        const uint tile = number * tiles + slot / RUN;
        const uint rank = slot % RUN;
        if (tile * TILE >= count || rank >= kept)
            continue;
#if LAST
        Write(Locate(tile), rank, memory[slot].place);
#else
        const uint to = tile * kept + rank;
        keptKeys[to] = memory[slot].key;
        keptPlaces[to] = memory[slot].place;
#endif
    }
}
#endif
