// The remainder with the sign of the dividend; 0 for an integer divisor of 0. Vulkan has no remainder of negative
// integers.
REAL ModulusTruncate(REAL x, REAL y) { return Fmod(x, y); }
uint ModulusTruncate(uint x, uint y) { return y == 0 ? 0 : x % max(y, 1); }
uint64_t ModulusTruncate(uint64_t x, uint64_t y) { return y == 0 ? 0 : x % max(y, (uint64_t)1); }
int ModulusTruncate(int x, int y)
{
    const int remainder = (int)ModulusTruncate((uint)Abs(x), (uint)Abs(y));
    return x < 0 ? -remainder : remainder;
}
int64_t ModulusTruncate(int64_t x, int64_t y)
{
    const int64_t remainder = (int64_t)ModulusTruncate((uint64_t)Abs(x), (uint64_t)Abs(y));
    return x < 0 ? -remainder : remainder;
}
