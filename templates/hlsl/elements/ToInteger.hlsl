// Converts to int64_t. Floats are truncated, become at most 2^62, which leaves room for sums, and NaN becomes 0.
int64_t ToInteger(REAL x)
{
    const int64_t most = (int64_t)1 << 62;
    return max(min(Convert(x, (int64_t)0), most), -most);
}
int64_t ToInteger(int x) { return Integer(x); }
int64_t ToInteger(uint x) { return Integer(x); }
int64_t ToInteger(int64_t x) { return Integer(x); }
int64_t ToInteger(uint64_t x) { return Integer(x); }
