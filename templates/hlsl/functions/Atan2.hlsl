// The angle of the point (x, y), from -pi to pi, as in C: signs of zeros count, and infinities are all equally far
// away.
// Error at most 2.25 ulp (float), 2.25 ulp (double), as measured.

float Atan2(float y, float x)
{
    const float a = Magnitude(y);
    const float b = Magnitude(x);
    const bool isSteep = a > b;
    const float longer = isSteep ? a : b;
    const float shorter = isSteep ? b : a;

    // Scaled so that neither the quotient's reciprocal nor its remainder becomes subnormal before the angle does
    const float scale = longer > 1.1529215e18f ? 9.536743e-7f : longer > 9.536743e-7f ? 1.0995116e12f : 1.2676506e30f;
    const bool isFar = IsInfinity(longer);
    const float divisor = isFar ? 1.0f : max(longer * scale, 1e-30f);
    const float dividend = isFar ? (IsInfinity(shorter) ? 1.0f : 0.0f) : shorter * scale;

    // The tangent is head + tail; head and upper have 12 bits, so that their products are exact. The argument of
    // LessExact has few bits and loses none: the call only keeps the compiler from simplifying. A tangent that is so
    // small that devices may flush its tail is all head; the remainder is then off by half an ulp.
    const float inverse = 1.0f / divisor;
    const float tangent = dividend * inverse;
    const float head = tangent < 1e-30f ? tangent : FromBits(Bits(tangent) & 0xfffff000u);
    const float upper = FromBits(Bits(divisor) & 0xfffff000u);
    const float rough = LessExact(mad(-head, upper, dividend));
    const float tail = mad(-head, divisor - upper, rough) * inverse;
    const float t = head + tail;
    const float z = t * t;
    float p = -0.0017933209f;
    p = mad(p, z, 0.010913352f);
    p = mad(p, z, -0.031175733f);
    p = mad(p, z, 0.057955754f);
    p = mad(p, z, -0.08403363f);
    p = mad(p, z, 0.10952164f);
    p = mad(p, z, -0.14264239f);
    p = mad(p, z, 0.19998548f);
    p = mad(p, z, -0.333333f);
    const float rest = mad(t * z, p, tail);

    // The angle is counted from the nearest axis, in either direction.
    const bool isLeft = Bits(x) > 0x7fffffffu;
    const float axis = isSteep ? 1.5707964f : isLeft ? 3.1415927f : 0.0f;
    const float axisTail = isSteep ? -4.371139e-8f : isLeft ? -8.742278e-8f : 0.0f;
    const float turn = isSteep != isLeft ? -1.0f : 1.0f;
    DXIL_PRECISE const float angle = axis + mad(turn, head, mad(turn, rest, axisTail));
    return IsNan(x) || IsNan(y) ? QuietNan(x) : CopySign(angle, y);
}

double Atan2(double y, double x)
{
    if (IsNan(x) || IsNan(y))
        return QuietNan(x);
    const double a = Magnitude(y);
    const double b = Magnitude(x);
    double ratio = Bits(a) == Bits(b) ? 1.0L : Divide(a, b);
    if (Bits(a) == 0)
        ratio = 0.0L;
    precise double angle = Atan(ratio);
    precise double left = 3.141592653589793L - (angle - 1.2246467991473532e-16L);
    return CopySign(Bits(x) > 0x7fffffffffffffffull ? left : angle, y);
}
