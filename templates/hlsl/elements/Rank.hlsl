// An unsigned integer that sorts like x: -0 below +0, and NaN of either sign above all numbers. Comparing two takes one
// instruction, comparing floats that may be NaN several.
WORD Rank(REAL x) { return (WORD)Order(x) + (INFINITY + 1); }
uint Rank(int x) { return (uint)x ^ 0x80000000u; }
uint Rank(uint x) { return x; }
uint64_t Rank(int64_t x) { return (uint64_t)x ^ 0x8000000000000000ull; }
uint64_t Rank(uint64_t x) { return x; }
