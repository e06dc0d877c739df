// The smaller of two integers
int Min(int a, int b) { return min(a, b); }
uint Min(uint a, uint b) { return min(a, b); }
int64_t Min(int64_t a, int64_t b) { return min(a, b); }
uint64_t Min(uint64_t a, uint64_t b) { return min(a, b); }
