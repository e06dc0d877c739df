// needs: Convert Integer
// Converts an element of any type to int64_t: truncated, saturated, and 0 for NaN
int64_t ToInteger(REAL x) { return Convert(x, (int64_t)0); }
int64_t ToInteger(int x) { return Integer(x); }
int64_t ToInteger(uint x) { return Integer(x); }
int64_t ToInteger(int64_t x) { return Integer(x); }
int64_t ToInteger(uint64_t x) { return Integer(x); }
