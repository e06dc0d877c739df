// What a data type of so many bits keeps of an integer: high bits are cut off. Floats stay as they are.
REAL LowBits(REAL x, uint bits) { return x; }
int LowBits(int x, uint bits) { return x << (32 - bits) >> (32 - bits); }
uint LowBits(uint x, uint bits) { return x << (32 - bits) >> (32 - bits); }
int64_t LowBits(int64_t x, uint bits) { return x; }
uint64_t LowBits(uint64_t x, uint bits) { return x; }
