// The angle of the point (x, y) from -pi to pi, as in C: the signs of zeros count, infinities are as far as each other.
// Error at most 2.25 ulp (float), 2.25 ulp (double), as measured.
// needs: Atan Bits CopySign Divide IsNan Magnitude QuietNan

float Atan2(float y, float x)
{
    if (IsNan(x) || IsNan(y))
        return QuietNan(x);
    const float a = Magnitude(y);
    const float b = Magnitude(x);
    float ratio = Bits(a) == Bits(b) ? 1.0f : Divide(a, b);
    if (Bits(a) == 0)
        ratio = 0.0f;
    precise float angle = Atan(ratio);
    precise float left = 3.1415927f - (angle + 8.742278e-8f);
    return CopySign(Bits(x) > 0x7fffffffu ? left : angle, y);
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
