// A number of the second argument's type, from the bits of a constant: the host packs 4 or 8 bytes, low ones first.
float Unpack(uint2 bits, float type) { return asfloat(bits.x); }
double Unpack(uint2 bits, double type) { return asdouble(bits.x, bits.y); }
int Unpack(uint2 bits, int type) { return (int)bits.x; }
uint Unpack(uint2 bits, uint type) { return bits.x; }
int64_t Unpack(uint2 bits, int64_t type) { return (int64_t)((uint64_t)bits.y << 32 | bits.x); }
uint64_t Unpack(uint2 bits, uint64_t type) { return (uint64_t)bits.y << 32 | bits.x; }
