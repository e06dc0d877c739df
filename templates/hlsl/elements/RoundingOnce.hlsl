// needs: Bits FromBits Magnitude
// What a number is to be before it becomes a float that is rounded again, to fewer bits: the bits of a double that a
// float lacks are cut off, and the last one that remains tells whether any of them was set. What is far beyond halves
// stays as it is: an integer of as few bits, which it may become instead, is made of its last ones.
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
