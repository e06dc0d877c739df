// x, made such that compilers cannot tell how it was worked out, and so neither reorder a sum nor leave out what is
// added and taken away. Nothing is lost: a number above 0 changes no sign.
// needs: Bits FromBits

float KeptApart(float x, float positive)
{
    return FromBits(Bits(x) ^ (Bits(positive) & 0x80000000u));
}
