// needs: Convert Integer
// An element, a float or not, as an integer in 64 bits with a sign: toward 0, the nearest limit for what they cannot
// hold, and 0 for NaN
int64_t ToInteger(REAL x) { return Convert(x, (int64_t)0); }
int64_t ToInteger(int x) { return Integer(x); }
int64_t ToInteger(uint x) { return Integer(x); }
int64_t ToInteger(int64_t x) { return Integer(x); }
int64_t ToInteger(uint64_t x) { return Integer(x); }
