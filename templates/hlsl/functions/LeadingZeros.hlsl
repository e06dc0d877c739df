// The number of zero bits above the highest set bit of a nonzero number

uint LeadingZeros(uint x)
{
    return 31 - firstbithigh(x);
}

uint LeadingZeros(uint64_t x)
{
    const uint high = (uint)(x >> 32);
    return high != 0 ? LeadingZeros(high) : 32 + LeadingZeros((uint)x);
}
