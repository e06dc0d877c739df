// x without its last bit. What follows from how exact x was no compiler can tell then: neither does it take x for what
// it was rounded from, nor (x - y) + y for x.
// needs: Bits FromBits

float LessExact(float x)
{
    return FromBits(Bits(x) & ~1u);
}
