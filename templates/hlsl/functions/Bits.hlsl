// The bit pattern of a number.

uint Bits(float x)
{
    return asuint(x);
}

uint64_t Bits(double x)
{
    uint low;
    uint high;
    asuint(x, low, high);
    return (uint64_t)high << 32 | low;
}
