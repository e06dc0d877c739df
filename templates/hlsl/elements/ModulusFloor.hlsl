// The remainder with the sign of the divisor; 0 for an integer divisor of 0
REAL ModulusFloor(REAL x, REAL y) { return FloorMod(x, y); }
uint ModulusFloor(uint x, uint y) { return ModulusTruncate(x, y); }
uint64_t ModulusFloor(uint64_t x, uint64_t y) { return ModulusTruncate(x, y); }
int ModulusFloor(int x, int y)
{
    const int remainder = ModulusTruncate(x, y);
    return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder;
}
int64_t ModulusFloor(int64_t x, int64_t y)
{
    const int64_t remainder = ModulusTruncate(x, y);
    return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder;
}
