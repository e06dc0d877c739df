// x shifted left; 0 if all bits are shifted out
uint ShiftLeft(uint x, uint places) { return places < 32 ? x << places : 0; }
uint64_t ShiftLeft(uint64_t x, uint64_t places) { return places < 64 ? x << places : 0; }
