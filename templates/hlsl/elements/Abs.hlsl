// The magnitude; the least integer of a signed type maps to itself.
REAL Abs(REAL x) { return Magnitude(x); }
int Abs(int x) { return x < 0 ? (int)(0 - (uint)x) : x; }
int64_t Abs(int64_t x) { return x < 0 ? (int64_t)(0 - (uint64_t)x) : x; }
uint Abs(uint x) { return x; }
uint64_t Abs(uint64_t x) { return x; }
