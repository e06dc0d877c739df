// The number of set bits
uint BitCount(uint x) { return countbits(x); }
uint64_t BitCount(uint64_t x) { return countbits((uint)x) + countbits((uint)(x >> 32)); }
