// The number with this bit pattern.

float FromBits(uint bits)
{
    return asfloat(bits);
}

double FromBits(uint64_t bits)
{
    return asdouble((uint)bits, (uint)(bits >> 32));
}
