// -1, 0 or 1; 0 of NaN. Through integers: drivers make -0 of a choice between floats.
REAL Sign(REAL x) { return (REAL)(x > 0.0f ? 1 : x < 0.0f ? -1 : 0); }
int Sign(int x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
int64_t Sign(int64_t x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
uint Sign(uint x) { return min(x, 1); }
uint64_t Sign(uint64_t x) { return min(x, (uint64_t)1); }
