// needs: LeadingZeros
// The nearest float. Some drivers convert the lower 32 bits alone, so it is made of 32 bits, the last of which tells
// whether any that were cut off was set.
float WideToFloat(uint64_t x)
{
    const uint high = (uint)(x >> 32);
    if (high == 0)
        return (float)(uint)x;
    const uint shift = 32 - LeadingZeros(high);
    const bool lost = (x & (((uint64_t)1 << shift) - 1)) != 0;
    return (float)((uint)(x >> shift) | (uint)lost) * (float)(1u << (shift - 1)) * 2.0f;
}
// By the upper word: a driver takes a widened negative integer for a positive one where x < 0 is asked.
float WideToFloat(int64_t x)
{
    return (int)((uint64_t)x >> 32) < 0 ? -WideToFloat((uint64_t)0 - (uint64_t)x) : WideToFloat((uint64_t)x);
}
