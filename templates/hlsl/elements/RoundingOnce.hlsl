// Prepares a double for two roundings, to a float and from there to one of fewer bits: round to odd, which cuts the bits
// that a float lacks, and sets its last one if any of them was set. `significand` has its bits, 0 for an integer.
double RoundingOnce(double x, uint significand)
{
    const uint64_t lost = Bits(x) & 0x1fffffff;
    return significand > 0 && significand < 24 && lost != 0 ? FromBits((Bits(x) - lost) | 0x20000000) : x;
}
float RoundingOnce(float x, uint significand) { return x; }
int RoundingOnce(int x, uint significand) { return x; }
uint RoundingOnce(uint x, uint significand) { return x; }
int64_t RoundingOnce(int64_t x, uint significand) { return x; }
uint64_t RoundingOnce(uint64_t x, uint significand) { return x; }
