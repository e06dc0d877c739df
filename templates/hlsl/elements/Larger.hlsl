// The larger of two numbers, either of them if one is NaN: cheaper than Max
REAL Larger(REAL x, REAL y) { return max(x, y); }
int Larger(int x, int y) { return max(x, y); }
uint Larger(uint x, uint y) { return max(x, y); }
int64_t Larger(int64_t x, int64_t y) { return max(x, y); }
uint64_t Larger(uint64_t x, uint64_t y) { return max(x, y); }
