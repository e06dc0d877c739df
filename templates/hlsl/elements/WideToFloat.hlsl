// The nearest float. Some drivers convert only the low 32 bits, so this converts the top 32 significant bits, the last
// of which is set if any bit below them was (round to odd).
float WideToFloat(uint64_t x)
{
    const uint high = (uint)(x >> 32);
    if (high == 0)
        return (float)(uint)x;
    const uint shift = 32 - LeadingZeros(high);
    const bool lost = (x & (((uint64_t)1 << shift) - 1)) != 0;
    return (float)((uint)(x >> shift) | (uint)lost) * (float)(1u << (shift - 1)) * 2.0f;
}
// Tests the upper word, because one driver finds x < 0 false for sign-extended negative integers.
float WideToFloat(int64_t x)
{
    const int low = (int)x;
    if ((int)((uint64_t)x >> 32) == low >> 31)  // nearly all are 32-bit integers
        return (float)low;
    return (int)((uint64_t)x >> 32) < 0 ? -WideToFloat((uint64_t)0 - (uint64_t)x) : WideToFloat((uint64_t)x);
}
