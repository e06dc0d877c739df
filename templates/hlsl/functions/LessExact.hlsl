// x with its last bit cleared, which hides it from compilers: they can neither substitute the unrounded value nor
// simplify (x - y) + y to x.

float LessExact(float x)
{
    return FromBits(Bits(x) & ~1u);
}
