// Powers of or with integers of 32 bits.
// needs: Convert Magnitude RoundEven

// The exponent in two parts, each of which a float holds exactly
float PowOfParts(float x, uint exponent, float sign)
{
    return Pow(x, sign * (float)(exponent & ~0xffu)) * Pow(x, sign * (float)(exponent & 0xff));
}
float Pow(float x, uint y) { return PowOfParts(x, y, 1.0f); }
float Pow(float x, int y) { return PowOfParts(x, y < 0 ? 0 - (uint)y : (uint)y, y < 0 ? -1.0f : 1.0f); }

// With high bits cut off
uint Pow(uint x, uint y)
{
    uint result = 1;
    for (; y != 0; y >>= 1)
    {
        result *= (y & 1) != 0 ? x : 1;
        x *= x;
    }
    return result;
}
int Pow(int x, uint y) { return (int)Pow((uint)x, y); }

// A negative exponent makes 1 / x^-y, cut toward 0.
uint Pow(uint x, int y) { return y >= 0 ? Pow(x, (uint)y) : x == 1 ? 1 : 0; }
int Pow(int x, int y)
{
    if (y >= 0)
        return Pow(x, (uint)y);
    return x == 1 || (x == -1 && (y & 1) == 0) ? 1 : x == -1 ? -1 : 0;
}

// The integer that double precision may have missed by rounding errors
double WholeIfNear(double x)
{
    const double whole = RoundEven(x);
    return Magnitude(x - whole) <= Magnitude(x) * 8.881784197001252e-16L ? whole : x;
}
int Pow(int x, float y) { return Convert(WholeIfNear(Pow((double)x, (double)y)), x); }
uint Pow(uint x, float y) { return Convert(WholeIfNear(Pow((double)x, (double)y)), x); }
