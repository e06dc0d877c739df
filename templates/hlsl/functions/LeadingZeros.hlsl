// The zero bits above the highest one of a number that is not 0.

uint LeadingZeros(uint x)
{
    return 31 - firstbithigh(x);
}

uint LeadingZeros(uint64_t x)
{
    const uint high = (uint)(x >> 32);
    return high != 0 ? LeadingZeros(high) : 32 + LeadingZeros((uint)x);
}
