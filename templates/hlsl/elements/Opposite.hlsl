// What sorts the other way round: -x, or ~x of integers
// for SIGN: 0x80000000u, 0x8000000000000000ull
REAL Opposite(REAL x) { return FromBits(Bits(x) ^ SIGN); }
int Opposite(int x) { return ~x; }
uint Opposite(uint x) { return ~x; }
int64_t Opposite(int64_t x) { return ~x; }
uint64_t Opposite(uint64_t x) { return ~x; }
