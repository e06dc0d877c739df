// Whether a <= b; false if either is NaN, even if the compiler assumes there are none
bool LessOrEqual(REAL a, REAL b) { return !IsNan(a) && !IsNan(b) && a <= b; }
bool LessOrEqual(int a, int b) { return a <= b; }
bool LessOrEqual(uint a, uint b) { return a <= b; }
bool LessOrEqual(int64_t a, int64_t b) { return a <= b; }
bool LessOrEqual(uint64_t a, uint64_t b) { return a <= b; }
