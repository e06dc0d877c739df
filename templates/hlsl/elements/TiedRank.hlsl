// An unsigned integer that sorts like x, the same for both zeros, and highest for NaN of any kind
WORD TiedRank(REAL x)
{
    const WORD bits = Bits(x), sign = (WORD)((INTEGER)bits >> (WORD_BITS - 1));
    return min((((bits & MAGNITUDE) ^ sign) - sign) + INFINITY, 2 * INFINITY + 1);
}
uint TiedRank(int x) { return Rank(x); }
uint TiedRank(uint x) { return x; }
uint64_t TiedRank(int64_t x) { return Rank(x); }
uint64_t TiedRank(uint64_t x) { return x; }
