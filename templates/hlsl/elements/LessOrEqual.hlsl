// needs: IsNan
// Whether a is at most b; false if either is NaN, even where a compiler assumes that there is none
bool LessOrEqual(REAL a, REAL b) { return !IsNan(a) && !IsNan(b) && a <= b; }
bool LessOrEqual(int a, int b) { return a <= b; }
bool LessOrEqual(uint a, uint b) { return a <= b; }
bool LessOrEqual(int64_t a, int64_t b) { return a <= b; }
bool LessOrEqual(uint64_t a, uint64_t b) { return a <= b; }
