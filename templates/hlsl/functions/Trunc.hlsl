// x without its fraction, with its sign. Exact. On bits for double: DXC compiles trunc(double) through float.

float Trunc(float x)
{
    return trunc(x);
}

double Trunc(double x)
{
    const uint64_t bits = Bits(x);
    const int exponent = (int)((uint)(bits >> 52) & 0x7ff) - 1023;
    if (exponent < 0)
        return FromBits(bits & 0x8000000000000000ull);
    if (exponent >= 52)
        return x;
    return FromBits(bits & ~(0x000fffffffffffffull >> exponent));
}
