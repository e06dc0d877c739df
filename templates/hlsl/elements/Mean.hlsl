// Half of the sum. Integers do not overflow: the common bits plus half of the differing ones are the mean rounded down,
// and a negative mean that lost a half is rounded up to truncate.
REAL Mean(REAL x, REAL y) { return (x + y) * 0.5f; }
int Mean(int x, int y)
{
    const int down = (x & y) + ((x ^ y) >> 1);
    return down < 0 ? down + ((x ^ y) & 1) : down;
}
int64_t Mean(int64_t x, int64_t y)
{
    const int64_t down = (x & y) + ((x ^ y) >> 1);
    return down < 0 ? down + ((x ^ y) & 1) : down;
}
uint Mean(uint x, uint y) { return (x & y) + ((x ^ y) >> 1); }
uint64_t Mean(uint64_t x, uint64_t y) { return (x & y) + ((x ^ y) >> 1); }
