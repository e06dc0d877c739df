// The arc sine; above 1/2 through pi / 2 - 2 arcsin(sqrt((1 - |x|) / 2)); NaN outside [-1, 1].
// Error at most 2.35 ulp (float), 2.15 ulp (double), as measured.
// needs: AsinTail CopySign Magnitude QuietNan Sqrt

float Asin(float x)
{
    const float a = Magnitude(x);
    if (!(a <= 1.0f))
        return QuietNan(x);
    if (a <= 0.5f)
    {
        precise float small = a + a * AsinTail(a * a);
        return CopySign(small, x);
    }
    const float z = 0.5f * (1.0f - a);
    const float root = Sqrt(z);
    precise float twice = 2.0f * (root + root * AsinTail(z));
    precise float result = 1.5707964f - (twice + 4.371139e-8f);
    return CopySign(result, x);
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
