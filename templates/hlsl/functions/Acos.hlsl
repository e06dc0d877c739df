// The arc cosine; above 1/2 through 2 arcsin(sqrt((1 - |x|) / 2)); NaN outside [-1, 1].
// Error at most 1.1 ulp (float), 1.15 ulp (double), as measured.

float Acos(float x)
{
    const float a = Magnitude(x);
    if (!(a <= 1.0f))
        return QuietNan(x);
    if (a <= 0.5f)
    {
        precise float middle = 1.5707964f - (x + (x * AsinTail(x * x) + 4.371139e-8f));
        return middle;
    }
    const float z = 0.5f * (1.0f - a);
    const float root = Sqrt(z);
    precise float twice = 2.0f * (root + root * AsinTail(z));
    precise float left = 3.1415927f - (twice + 8.742278e-8f);
    return x < 0.0f ? left : twice;
}

double Acos(double x)
{
    const double a = Magnitude(x);
    if (!(a <= 1.0L))
        return QuietNan(x);
    if (a <= 0.5L)
    {
        precise double middle = 1.5707963267948966L - (x + (x * AsinTail(x * x) - 6.123233995736766e-17L));
        return middle;
    }
    const double z = 0.5L * (1.0L - a);
    const double root = Sqrt(z);
    precise double twice = 2.0L * (root + root * AsinTail(z));
    precise double left = 3.141592653589793L - (twice - 1.2246467991473532e-16L);
    return x < 0.0L ? left : twice;
}
