// needs: IsNan
// Whether a is smaller than b; false if either is NaN, even where a compiler assumes that there is none
bool Less(REAL a, REAL b) { return !IsNan(a) && !IsNan(b) && a < b; }
bool Less(int a, int b) { return a < b; }
bool Less(uint a, uint b) { return a < b; }
bool Less(int64_t a, int64_t b) { return a < b; }
bool Less(uint64_t a, uint64_t b) { return a < b; }
