// The arc cosine; above 1/2 through 2 arcsin(sqrt((1 - |x|) / 2)); NaN outside [-1, 1].
// Error at most 1.1 ulp, as measured.
// needs: AsinTail Magnitude QuietNan Sqrt

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
