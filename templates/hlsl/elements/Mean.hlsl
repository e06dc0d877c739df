// Half of the sum. Of integers without overflow: the common bits and half of the others make it rounded down, and a
// negative one that lost a half is cut toward 0.
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
