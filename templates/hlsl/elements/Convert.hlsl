// Converts to the type of the second argument. Floats are truncated, saturate at the limits of an integer type, and NaN
// becomes 0.
REAL Convert(float x, REAL type) { return (REAL)x; }
int Convert(float x, int type)
{
    return IsNan(x) ? 0 : x >= 2147483648.0f ? 2147483647 : x <= -2147483648.0f ? -2147483647 - 1 : (int)x;
}
uint Convert(float x, uint type)
{
    return IsNan(x) ? 0 : x >= 4294967296.0f ? 0xffffffff : x <= 0.0f ? 0 : (uint)x;
}
int64_t Convert(float x, int64_t type)
{
    return IsNan(x) ? 0 : x >= 9223372036854775808.0f ? ~((int64_t)1 << 63) : x <= -9223372036854775808.0f ? (int64_t)1 << 63 : (int64_t)x;
}
uint64_t Convert(float x, uint64_t type)
{
    return IsNan(x) ? 0 : x >= 18446744073709551616.0f ? ~(uint64_t)0 : x <= 0.0f ? 0 : (uint64_t)x;
}
float Convert(double x, float type) { return (float)x; }
double Convert(double x, double type) { return (double)x; }
int Convert(double x, int type)
{
    return IsNan(x) ? 0 : x >= 2147483648.0L ? 2147483647 : x <= -2147483648.0L ? -2147483647 - 1 : (int)x;
}
uint Convert(double x, uint type)
{
    return IsNan(x) ? 0 : x >= 4294967296.0L ? 0xffffffff : x <= 0.0L ? 0 : (uint)x;
}
int64_t Convert(double x, int64_t type)
{
    return IsNan(x) ? 0 : x >= 9223372036854775808.0L ? ~((int64_t)1 << 63) : x <= -9223372036854775808.0L ? (int64_t)1 << 63 : (int64_t)x;
}
uint64_t Convert(double x, uint64_t type)
{
    return IsNan(x) ? 0 : x >= 18446744073709551616.0L ? ~(uint64_t)0 : x <= 0.0L ? 0 : (uint64_t)x;
}
REAL Convert(int x, REAL type) { return (REAL)x; }
int Convert(int x, int type) { return (int)x; }
uint Convert(int x, uint type) { return (uint)x; }
int64_t Convert(int x, int64_t type) { return (int64_t)x; }
uint64_t Convert(int x, uint64_t type) { return (uint64_t)x; }
REAL Convert(uint x, REAL type) { return (REAL)x; }
int Convert(uint x, int type) { return (int)x; }
uint Convert(uint x, uint type) { return (uint)x; }
int64_t Convert(uint x, int64_t type) { return (int64_t)x; }
uint64_t Convert(uint x, uint64_t type) { return (uint64_t)x; }
float Convert(int64_t x, float type) { return WideToFloat(x); }
double Convert(int64_t x, double type) { return (double)x; }
int Convert(int64_t x, int type) { return (int)x; }
uint Convert(int64_t x, uint type) { return (uint)x; }
int64_t Convert(int64_t x, int64_t type) { return (int64_t)x; }
uint64_t Convert(int64_t x, uint64_t type) { return (uint64_t)x; }
float Convert(uint64_t x, float type) { return WideToFloat(x); }
double Convert(uint64_t x, double type) { return (double)x; }
int Convert(uint64_t x, int type) { return (int)x; }
uint Convert(uint64_t x, uint type) { return (uint)x; }
int64_t Convert(uint64_t x, int64_t type) { return (int64_t)x; }
uint64_t Convert(uint64_t x, uint64_t type) { return (uint64_t)x; }
