// x^y for any two types, in the type of x: truncated for integers, and exact if both are

REAL Power(REAL x, REAL y) { return Pow(x, y); }

// Splits the exponent into two parts that floats represent exactly
float PowOfParts(float x, uint exponent, float sign)
{
    return Pow(x, sign * (float)(exponent & ~0xffu)) * Pow(x, sign * (float)(exponent & 0xff));
}
float Power(float x, uint y) { return PowOfParts(x, y, 1.0f); }
float Power(float x, int y) { return PowOfParts(x, y < 0 ? 0 - (uint)y : (uint)y, y < 0 ? -1.0f : 1.0f); }

// Double precision where either operand is a double or has 64 bits
float Power(float x, double y) { return (float)Pow((double)x, y); }
float Power(float x, uint64_t y) { return (float)Pow((double)x, (double)y); }
float Power(float x, int64_t y) { return (float)Pow((double)x, (double)y); }
double Power(double x, float y) { return Pow(x, (double)y); }
double Power(double x, uint y) { return Pow(x, (double)y); }
double Power(double x, int y) { return Pow(x, (double)y); }
double Power(double x, uint64_t y) { return Pow(x, (double)y); }
double Power(double x, int64_t y) { return Pow(x, (double)y); }

// Square and multiply, modulo 2^32 or 2^64
uint Power(uint x, uint y)
{
    uint result = 1;
    for (; y != 0; y >>= 1)
    {
        result *= (y & 1) != 0 ? x : 1;
        x *= x;
    }
    return result;
}
int Power(int x, uint y) { return (int)Power((uint)x, y); }
uint64_t Power(uint64_t x, uint64_t y)
{
    uint64_t result = 1;
    for (; y != 0; y >>= 1)
    {
        result *= (y & 1) != 0 ? x : 1;
        x *= x;
    }
    return result;
}
uint64_t Power(uint64_t x, uint y) { return Power(x, (uint64_t)y); }
int64_t Power(int64_t x, uint y) { return (int64_t)Power((uint64_t)x, (uint64_t)y); }
int64_t Power(int64_t x, uint64_t y) { return (int64_t)Power((uint64_t)x, y); }
uint Power(uint x, uint64_t y) { return (uint)Power((uint64_t)x, y); }
int Power(int x, uint64_t y) { return (int)Power((uint64_t)x, y); }

// A negative exponent gives 1 / x^-y, truncated.
int Inverse(int x, bool isOdd) { return x == 1 || x == -1 ? (isOdd ? x : 1) : 0; }
int64_t Inverse(int64_t x, bool isOdd) { return x == 1 || x == -1 ? (isOdd ? x : 1) : 0; }
uint Power(uint x, int y) { return y >= 0 ? Power(x, (uint)y) : x == 1 ? 1 : 0; }
int Power(int x, int y) { return y >= 0 ? Power(x, (uint)y) : Inverse(x, (y & 1) != 0); }
uint64_t Power(uint64_t x, int y) { return y >= 0 ? Power(x, (uint)y) : x == 1 ? 1 : 0; }
int64_t Power(int64_t x, int y) { return y >= 0 ? Power(x, (uint)y) : Inverse(x, (y & 1) != 0); }
uint Power(uint x, int64_t y) { return y >= 0 ? Power(x, (uint64_t)y) : x == 1 ? 1 : 0; }
int Power(int x, int64_t y) { return y >= 0 ? Power(x, (uint64_t)y) : Inverse(x, (y & 1) != 0); }
uint64_t Power(uint64_t x, int64_t y) { return y >= 0 ? Power(x, (uint64_t)y) : x == 1 ? 1 : 0; }
int64_t Power(int64_t x, int64_t y) { return y >= 0 ? Power(x, (uint64_t)y) : Inverse(x, (y & 1) != 0); }

// Snaps to an integer that rounding errors of double precision may have missed
double WholeIfNear(double x)
{
    const double whole = RoundEven(x);
    return Magnitude(x - whole) <= Magnitude(x) * 8.881784197001252e-16L ? whole : x;
}
int Power(int x, REAL y) { return Convert(WholeIfNear(Pow((double)x, (double)y)), x); }
uint Power(uint x, REAL y) { return Convert(WholeIfNear(Pow((double)x, (double)y)), x); }
int64_t Power(int64_t x, REAL y) { return Convert(WholeIfNear(Pow((double)x, (double)y)), x); }
uint64_t Power(uint64_t x, REAL y) { return Convert(WholeIfNear(Pow((double)x, (double)y)), x); }
