// Whether two numbers are equal; false if either is NaN, even if the compiler assumes there are none
bool Equal(REAL a, REAL b) { return !IsNan(a) && !IsNan(b) && a == b; }
bool Equal(int a, int b) { return a == b; }
bool Equal(uint a, uint b) { return a == b; }
bool Equal(int64_t a, int64_t b) { return a == b; }
bool Equal(uint64_t a, uint64_t b) { return a == b; }
