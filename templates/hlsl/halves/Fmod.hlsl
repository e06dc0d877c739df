// The remainder of a divided by b, with the sign of a; exact if both are halves. Their quotient is below 2^41:
// multiples of 2^20 b are subtracted first, then those of b. Each partial quotient, of up to 21 bits, is split in two,
// so that the products with b are exact; so are the differences, which are multiples of the last bit of b and not much
// larger than b. The partial quotient may be off by one, which the remainder reveals.
// needs: Bits CopySign FromBits LessExact Magnitude QuietNan

// a minus an integer multiple of b, the partial quotient
float LessMultiple(float a, float b, float quotient)
{
    const float head = FromBits(Bits(quotient) & 0xfffff000u);
    return mad(head - quotient, b, LessExact(mad(-head, b, a)));
}

float Fmod(float a, float b)
{
    const float dividend = Magnitude(a);
    const float divisor = Magnitude(b);
    const float inverse = 1.0f / divisor;
    const float many = LessMultiple(dividend, 1048576.0f * divisor, floor(dividend * (inverse * 9.536743e-7f)));
    const float near = LessMultiple(many, divisor, floor(many * inverse));
    const float above = near < 0.0f ? near + divisor : near;
    const float remainder = above >= divisor ? above - divisor : above;
    const bool isDefined = Bits(dividend) < 0x7f800000u && Bits(divisor) - 1 < 0x7f800000u;
    return !isDefined ? QuietNan(a) : dividend < divisor ? a : CopySign(remainder, a);
}
