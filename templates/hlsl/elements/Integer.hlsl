// Converts an integer to int64_t, saturating at its maximum
int64_t Integer(int x) { return x; }
int64_t Integer(uint x) { return x; }
int64_t Integer(int64_t x) { return x; }
int64_t Integer(uint64_t x) { return (int64_t)min(x, ~(uint64_t)0 >> 1); }
