// The arc sine; above 1/2 through pi / 2 - 2 arcsin(sqrt((1 - |x|) / 2)); up to 1/2 a minimax polynomial
// (scripts/minimax.py). NaN outside [-1, 1].
// Error at most 0.501 ulp, over all float16 values.
// needs: CopySign Magnitude QuietNan

float Asin(float x)
{
    const float a = Magnitude(x);
    const bool isSmall = a <= 0.5f;
    const float z = isSmall ? a * a : 0.5f * (1.0f - a);
    const float root = isSmall ? a : sqrt(z);
    float p = 0.049943592f;
    p = mad(p, z, 0.040039563f);
    p = mad(p, z, 0.07540466f);
    p = mad(p, z, 0.16665582f);
    const float arc = mad(root * z, p, root);
    const float result = isSmall ? arc : 1.5707964f - 2.0f * arc;
    return a <= 1.0f ? CopySign(result, x) : QuietNan(x);
}
