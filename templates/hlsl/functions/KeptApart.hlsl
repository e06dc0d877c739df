// x, hidden from compilers, so that they neither reassociate a sum nor cancel what is added and subtracted. The value
// does not change: the sign bit of a positive number is 0.

float KeptApart(float x, float positive)
{
    return FromBits(Bits(x) ^ (Bits(positive) & 0x80000000u));
}
