// Whether a < b; false if either is NaN, even if the compiler assumes there are none
bool Less(REAL a, REAL b) { return !IsNan(a) && !IsNan(b) && a < b; }
bool Less(int a, int b) { return a < b; }
bool Less(uint a, uint b) { return a < b; }
bool Less(int64_t a, int64_t b) { return a < b; }
bool Less(uint64_t a, uint64_t b) { return a < b; }
