// The arc sine; above 1/2 through pi / 2 - 2 arcsin(sqrt((1 - |x|) / 2)), for floats without branches; NaN outside
// [-1, 1].
// Error at most 2.3 ulp (float), 2.15 ulp (double), as measured.

float Asin(float x)
{
    const float a = Magnitude(x);
    const bool isSmall = a <= 0.5f;
    const float z = isSmall ? a * a : max(0.5f * (1.0f - a), 1e-30f);

    // The root is head + tail, and head has 12 bits, so that the rest of its square is exact.
    const float inverse = rsqrt(z);
    const float head = FromBits((Bits(z * inverse) + 0x800u) & 0xfffff000u);
    const float most = 0.5f * inverse * mad(-head, head, z);
    const float tail = mad(0.5f * inverse * most, most, most);
    const float root = isSmall ? a : head + tail;
    const float arc = mad(root, AsinTail(z), root);
    DXIL_PRECISE const float result = isSmall ? arc : 1.5707964f - mad(2.0f, arc, 4.371139e-8f);
    return a <= 1.0f ? CopySign(result, x) : QuietNan(x);
}

double Asin(double x)
{
    const double a = Magnitude(x);
    if (!(a <= 1.0L))
        return QuietNan(x);
    if (a <= 0.5L)
    {
        precise double small = a + a * AsinTail(a * a);
        return CopySign(small, x);
    }
    const double z = 0.5L * (1.0L - a);
    const double root = Sqrt(z);
    precise double twice = 2.0L * (root + root * AsinTail(z));
    precise double result = 1.5707963267948966L - (twice - 6.123233995736766e-17L);
    return CopySign(result, x);
}
