// x without its last bit, which hides from compilers how x was worked out: they can neither put the unrounded value in
// its place nor simplify (x - y) + y to x.
// needs: Bits FromBits

float LessExact(float x)
{
    return FromBits(Bits(x) & ~1u);
}
