// x shifted towards its lowest bit; 0 where all bits are shifted out
uint ShiftRight(uint x, uint places) { return places < 32 ? x >> places : 0; }
uint64_t ShiftRight(uint64_t x, uint64_t places) { return places < 64 ? x >> places : 0; }
