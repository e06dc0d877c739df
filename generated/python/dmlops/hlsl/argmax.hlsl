// DML_OPERATOR_ARGMAX: Finds the index of the largest value along one or more axes.
//
// Entry point CSMain, shader model 6.2, 16-bit types enabled:
//   dxc -T cs_6_2 -E CSMain -enable-16bit-types -D ... argmax.hlsl
//   for Vulkan also: -spirv -fvk-use-dx-layout -fspv-extension=KHR
//
// Reduces sets of elements to one each: those that differ in their coordinates along the axes only.
// A group works on several sets, LANES threads on each, which meet in group memory. Sizes and strides are in
// elements; neighbouring dimensions are merged where all tensors run through them in one step, and those of size 1
// left out.
//
// For each tensor, X being OUTPUT or INPUT:
//   X_STORED   type of an element in its buffer: double, float, float16_t, int64_t, int, int16_t, uint64_t, uint,
//              uint16_t; uint also where a word of 32 bits holds several elements
//   X_BITS     bits of an element: 8, 16, 32, 64
//   X_VALUE    type that elements are computed in: double, float (of float16_t too), int64_t, int, uint64_t or uint
//   OutputTensor: INT64, INT32, UINT64, UINT32
//   InputTensor: FLOAT32, FLOAT16, INT64, INT32, INT16, INT8, UINT64, UINT32, UINT16, UINT8
//   DECREASING  1 if of equally good elements the last one is taken, 0 if the first
//   PASS       0 reduces whole sets; 1 reduces parts of sets, OutputTensor being a buffer of `State`; 2 reduces
//              what is in that buffer, InputTensor
//   VECTOR     elements loaded at once: 1 for any strides; where the innermost reduced dimension has stride 1, and its
//              size and all other strides are multiples of it, 2 or 4 (at most 16 bytes; 4 for 8 bits)
//   UNROLL     vectors that a thread loads before it reduces them, 1 or more
//   WHOLE      1 if a set is LANES * UNROLL vectors at most, so that it is read but once, else 0
//   EVEN       1 if sets are multiples of LANES * UNROLL vectors, so that a share ends where its last block does, else 0
//   NUM_THREADS  threads in a group, a power of 2
//   LANES      a power of 2, NUM_THREADS at most
//   ACROSS     1 if neighbouring threads work on neighbouring sets, 0 if on neighbouring elements of one
//   KEPT_RANK  dimensions that are not reduced, after merging, 1 to 8
//   REDUCED_RANK  dimensions that are reduced, after merging, 1 to 8
//
// Dispatch groupColumns x rows groups: `parts` for every NUM_THREADS / LANES sets, or more.

#define CHOOSES (1)  // the result is the index of an element
#define SHIFTS (0)  // elements are mapped after something is subtracted from all of a set

struct Dimension
{
    uint size;        // of the innermost reduced dimension: in vectors
    uint multiplier;  // these three divide by size
    uint halving;
    uint shift;
    uint inputStride;
    uint outputStride;
    uint reserved0;
    uint reserved1;
};

// What is known of a set, or of a part of it
struct State
{
    INPUT_VALUE value;
#if SHIFTS
    INPUT_VALUE shift;
#endif
#if CHOOSES
    uint index;
#if INPUT_BITS == 64
    uint reserved;
#endif
#endif
};

#if VECTOR > 1 && INPUT_BITS >= 16
typedef vector<INPUT_STORED, VECTOR> InputElements;
#else
typedef INPUT_STORED InputElements;
#endif
#if PASS == 2
typedef State Source;
#else
typedef InputElements Source;
#endif
#if PASS == 1
typedef State Target;
#else
typedef OUTPUT_STORED Target;
#endif

[[vk::binding(0, 0)]] StructuredBuffer<Source> inputTensor : register(t0);
[[vk::binding(1, 0)]] RWStructuredBuffer<Target> outputTensor : register(u0);
[[vk::binding(2, 0)]] cbuffer Params : register(b0)
{
    uint sets;
    uint extent;        // vectors of a set
    uint partExtent;    // vectors of a part of a set
    uint parts;         // of a set
    uint groupColumns;  // thread groups along x
    uint count;         // elements of a set
    uint reserved0;
    uint reserved1;
    Dimension kept[KEPT_RANK];  // outermost first
    Dimension reduced[REDUCED_RANK];
};

struct Position
{
    uint input;
    uint output;
};

// n / size for every n below 2^32
uint DivideBySize(uint n, Dimension dimension)
{
    const uint high = (uint)(((uint64_t)n * dimension.multiplier) >> 32);
    return (high + ((n - high) >> dimension.halving)) >> dimension.shift;
}

// Where a set begins
Position LocateSet(uint item)
{
    Position position = { 0, 0 };
    [unroll]
    for (int d = KEPT_RANK - 1; d >= 0; d--)
    {
        const uint rest = d > 0 ? DivideBySize(item, kept[d]) : 0;
        const uint coordinate = item - rest * kept[d].size;
        position.input += coordinate * kept[d].inputStride;
        position.output += coordinate * kept[d].outputStride;
        item = rest;
    }
    return position;
}

// Where a vector lies in a set
Position LocateVector(uint item)
{
    Position position = { 0, 0 };
    [unroll]
    for (int d = REDUCED_RANK - 1; d >= 0; d--)
    {
        const uint rest = d > 0 ? DivideBySize(item, reduced[d]) : 0;
        const uint coordinate = item - rest * reduced[d].size;
        position.input += coordinate * reduced[d].inputStride;
        position.output += coordinate * reduced[d].outputStride;
        item = rest;
    }
    return position;
}

// No integer is NaN.
bool IsNan(int x) { return false; }
bool IsNan(uint x) { return false; }
bool IsNan(int64_t x) { return false; }
bool IsNan(uint64_t x) { return false; }

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

// Whether a is smaller than b; false if either is NaN, even where a compiler assumes that there is none
bool Less(float a, float b) { return !IsNan(a) && !IsNan(b) && a < b; }
bool Less(int a, int b) { return a < b; }
bool Less(uint a, uint b) { return a < b; }
bool Less(int64_t a, int64_t b) { return a < b; }
bool Less(uint64_t a, uint64_t b) { return a < b; }

// Whether x is infinite, of either sign; on the bit pattern, since a compiler may assume finite numbers.
bool IsInfinity(float x)
{
    return (Bits(x) & 0x7fffffffu) == 0x7f800000u;
}

bool Better(INPUT_VALUE x, INPUT_VALUE y) { return (Less(y, x) || (IsNan(x) && (!IsNan(y)))); }

#if SHIFTS
// The shift as the functions are told it
INPUT_VALUE Finite(INPUT_VALUE shift)
{
    return IsInfinity(shift) ? (INPUT_VALUE)0 : shift;
}
#endif

// What is known of two parts of a set, or only their common shift
State Combine(bool shiftOnly, State a, State b)
{
#if CHOOSES
    const bool tie = !Better(a.value, b.value) && !Better(b.value, a.value);
    if (tie ? (b.index < a.index) != DECREASING : Better(b.value, a.value))
        return b;
    return a;
#else
#if SHIFTS
    if (shiftOnly)
    {
        a.shift = Shift(a.shift, b.shift);
        return a;
    }
#endif
    a.value = Merge(a.value, b.value);
    return a;
#endif
}

// The same where all elements of b come after those of a
State Append(bool shiftOnly, State a, State b)
{
#if CHOOSES
    if (DECREASING ? !Better(a.value, b.value) : Better(b.value, a.value))
        return b;
    return a;
#else
    return Combine(shiftOnly, a, b);
#endif
}

#if PASS == 2
typedef State Item;

State StateOf(bool shiftOnly, Item item, uint index, INPUT_VALUE shift)
{
#if SHIFTS
    if (!shiftOnly)
        item.value = Move(item.value, Finite(item.shift), shift);
#endif
    return item;
}

void Load(uint offset, out Item items[VECTOR])
{
    items[0] = inputTensor[offset];
}
#else
typedef INPUT_VALUE Item;

State StateOf(bool shiftOnly, Item item, uint index, INPUT_VALUE shift)
{
    State state = (State)0;
    state.value = item;
#if CHOOSES
    state.index = index;
#elif SHIFTS
    if (shiftOnly)
        state.shift = item;
    else
        state.value = Map(item, shift);
#else
    state.value = Map(item, shift);
#endif
    return state;
}

#if VECTOR == 1
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

void Load(uint offset, out Item items[VECTOR])
{
#if VECTOR == 1
    items[0] = LoadInput(offset);
#else
    const InputElements elements = inputTensor[offset / VECTOR];
    [unroll]
    for (uint k = 0; k < VECTOR; k++)
#if INPUT_BITS < 16
        items[k] = (INPUT_VALUE)(elements << 24 - 8 * k) >> 24;
#else
        items[k] = (INPUT_VALUE)elements[k];
#endif
#endif
}
#endif

// A thread's share of a set: vectors from `first` on before `end`, LANES apart
struct Share
{
    uint offset;  // of the set
    uint first;
    uint end;
};

void LoadBlock(Share share, uint first, out Item items[UNROLL][VECTOR])
{
    [unroll]
    for (uint u = 0; u < UNROLL; u++)
        Load(share.offset + LocateVector(EVEN ? first + u * LANES : min(first + u * LANES, share.end - 1)).input, items[u]);
}

#if SHIFTS
#define OVER_ITEMS [loop]  // a driver that joins unrolled items into vectors may forget what is precise
#else
#define OVER_ITEMS [unroll]
#endif

// What is known of a share; nothing where it is empty. `whole` holds all of it where WHOLE is 1.
State Gather(bool shiftOnly, Share share, INPUT_VALUE shift, Item whole[UNROLL][VECTOR])
{
    State total = (State)0;
    for (uint first = share.first; first < share.end; first += LANES * UNROLL)
    {
#if WHOLE
        const Item items[UNROLL][VECTOR] = whole;
#else
        Item items[UNROLL][VECTOR];
        LoadBlock(share, first, items);
#endif
        State block = (State)0;
        OVER_ITEMS
        for (uint u = 0; u < UNROLL; u++)
        {
            const uint item = first + u * LANES;
            if (!EVEN && item >= share.end)
                break;
            OVER_ITEMS
            for (uint k = 0; k < VECTOR; k++)
            {
                const State state = StateOf(shiftOnly, items[u][k], item * VECTOR + k, shift);
                if (u == 0 && k == 0)
                    block = state;
                else
                    block = Append(shiftOnly, block, state);
            }
        }
        if (first == share.first)
            total = block;
        else
            total = Append(shiftOnly, total, block);
    }
    return total;
}

static const uint columns = NUM_THREADS / LANES;  // sets that a group works on

groupshared State memory[NUM_THREADS];

// What the first `lanes` threads know of a set together
State Join(bool shiftOnly, State state, uint thread, uint lane, uint lanes)
{
#if LANES > 1
    const uint step = ACROSS ? columns : 1;
    memory[thread] = state;
    [unroll]
    for (uint half = LANES / 2; half > 0; half /= 2)
    {
        GroupMemoryBarrierWithGroupSync();
        if (lane < half && lane + half < lanes)
            memory[thread] = Combine(shiftOnly, memory[thread], memory[thread + half * step]);
    }
    GroupMemoryBarrierWithGroupSync();
    state = memory[thread - lane * step];
    GroupMemoryBarrierWithGroupSync();
#endif
    return state;
}

#if PASS != 1
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
#endif

[numthreads(NUM_THREADS, 1, 1)]
void CSMain(uint3 group : SV_GroupID, uint thread : SV_GroupIndex)
{
    const uint number = group.y * groupColumns + group.x;
    const uint part = number % parts;
    const uint lane = ACROSS ? thread / columns : thread % LANES;
    const uint set = number / parts * columns + (ACROSS ? thread % columns : thread / LANES);
    const Position position = LocateSet(min(set, sets - 1));  // all threads of a group meet at its barriers

    Share share;
    share.offset = position.input;
    share.first = part * partExtent + lane;
    share.end = min((part + 1) * partExtent, extent);
    const uint lanes = min(LANES, share.end - part * partExtent);  // that have anything to do

    Item whole[UNROLL][VECTOR];
#if WHOLE
    LoadBlock(share, share.first, whole);
#endif
    INPUT_VALUE shift = 0;
#if SHIFTS
    const State shifts = Join(true, Gather(true, share, 0, whole), thread, lane, lanes);
    shift = Finite(shifts.shift);
#endif
    State state = Join(false, Gather(false, share, shift, whole), thread, lane, lanes);
    if (set >= sets || lane > 0)
        return;

#if PASS == 1
#if SHIFTS
    state.shift = shifts.shift;
#endif
    outputTensor[part * sets + set] = state;
#elif CHOOSES
    StoreOutput(position.output, (OUTPUT_VALUE)state.index);
#else
    StoreOutput(position.output, (OUTPUT_VALUE)Finish(state.value, shift, (INPUT_VALUE)count));
#endif
}
