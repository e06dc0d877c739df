// needs: Bits FromBits Magnitude
// Prepares a double for two roundings, to a float and from there to fewer bits: round to odd, which cuts the bits that
// a float lacks, and sets its last one if any of them was set. Values far beyond float16's range are left alone, because they
// may instead become a narrow integer, which is made of their low bits.
double RoundingOnce(double x, uint bits)
{
    const uint64_t lost = Bits(x) & 0x1fffffff;
    return bits < 32 && lost != 0 && Magnitude(x) < 131072.0L ? FromBits((Bits(x) - lost) | 0x20000000) : x;
}
float RoundingOnce(float x, uint bits) { return x; }
int RoundingOnce(int x, uint bits) { return x; }
uint RoundingOnce(uint x, uint bits) { return x; }
int64_t RoundingOnce(int64_t x, uint bits) { return x; }
uint64_t RoundingOnce(uint64_t x, uint bits) { return x; }
