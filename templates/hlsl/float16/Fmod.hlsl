// The remainder of a divided by b, with the sign of a; exact if both are float16. Multiples of 2^20 b are subtracted
// first, then those of 2^10 b and of b. A partial quotient has at most 12 bits, or 21 where b is subnormal and has that
// many bits less, so that its product with b is exact. So are the differences, which are multiples of the last bit of a
// or b, and not much larger than b times the power. The inverse is a little too small: the last quotient is exact or
// one too small.

float Fmod(float a, float b)
{
    const float divisor = min(Magnitude(b), 131072.0f);  // larger than any half but infinity
    const float inverse = 0.999999f / divisor;
    const float dividend = Magnitude(a);
    const float many = mad(-floor(dividend * (inverse * 9.536743e-7f)), divisor * 1048576.0f, dividend);
    const float some = mad(-floor(many * (inverse * 0.0009765625f)), divisor * 1024.0f, many);
    const float rest = mad(-floor(some * inverse), divisor, some);
    DXIL_PRECISE const float remainder = rest < divisor ? rest : rest - divisor;
    const bool isDefined = Bits(dividend) < 0x7f800000u && Bits(Magnitude(b)) - 1 < 0x7f800000u;
    return isDefined ? CopySign(remainder, a) : QuietNan(a);
}
