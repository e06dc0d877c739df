// No integer is NaN.
bool IsNan(int x) { return false; }
bool IsNan(uint x) { return false; }
bool IsNan(int64_t x) { return false; }
bool IsNan(uint64_t x) { return false; }
