// -1, 0 or 1; 0 for NaN. Uses the bit pattern, because drivers produce -0 when selecting between floats, and flush
// subnormals.
// for ONE: 0x3f800000u, 0x3ff0000000000000ull
REAL Sign(REAL x)
{
    const WORD magnitude = Bits(x) & MAGNITUDE;
    return FromBits(magnitude == 0 || magnitude > INFINITY ? 0 : (Bits(x) & ~MAGNITUDE) | ONE);
}
int Sign(int x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
int64_t Sign(int64_t x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
uint Sign(uint x) { return min(x, 1); }
uint64_t Sign(uint64_t x) { return min(x, (uint64_t)1); }
