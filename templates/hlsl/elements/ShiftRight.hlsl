// x shifted right; 0 if all bits are shifted out
uint ShiftRight(uint x, uint places) { return places < 32 ? x >> places : 0; }
uint64_t ShiftRight(uint64_t x, uint64_t places) { return places < 64 ? x >> places : 0; }
