// Wraps an integer to this many bits, as storing it does. Floats are unchanged.
REAL LowBits(REAL x, uint bits) { return x; }
int LowBits(int x, uint bits) { return x << (32 - bits) >> (32 - bits); }
uint LowBits(uint x, uint bits) { return x << (32 - bits) >> (32 - bits); }
int64_t LowBits(int64_t x, uint bits) { return x; }
uint64_t LowBits(uint64_t x, uint bits) { return x; }
