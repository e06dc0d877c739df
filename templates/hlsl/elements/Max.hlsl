// The larger of two integers
int Max(int a, int b) { return max(a, b); }
uint Max(uint a, uint b) { return max(a, b); }
int64_t Max(int64_t a, int64_t b) { return max(a, b); }
uint64_t Max(uint64_t a, uint64_t b) { return max(a, b); }
