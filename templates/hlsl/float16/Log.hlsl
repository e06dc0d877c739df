// The natural logarithm; -infinity for zeros, NaN for negative numbers. A subnormal is taken as the integer that its
// bits are. Near 1, where the hardware's logarithm may be off by 2^-21, a minimax polynomial (scripts/minimax.py).
// Error at most 0.501 ulp, over all float16 values.

float Log(float x)
{
    const uint bits = Bits(x);
    const bool isSubnormal = bits < 0x00800000u;
    const float far = log2(isSubnormal ? (float)bits : x) - (isSubnormal ? 149.0f : 0.0f);
    const float f = x - 1.0f;
    float p = 0.20319243f;
    p = mad(p, f, -0.25328186f);
    p = mad(p, f, 0.33331742f);
    p = mad(p, f, -0.49998726f);
    const float near = mad(f * f, p, f);
    const float result = Magnitude(f) < 0.125f ? near : 0.6931472f * far;
    const bool isZero = (bits & 0x7fffffffu) == 0;
    const float outside = isZero ? Infinity(-1.0f) : QuietNan(x);
    return IsNan(x) || bits == 0x7f800000u ? x : bits > 0x7fffffffu || isZero ? outside : result;
}
