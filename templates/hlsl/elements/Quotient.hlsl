// x / y: of floats as the hardware divides, which Vulkan lets be off by 2.5 ulp, and by anything where |y| > 2^126: there both
// are made smaller first, unless |x| <= 1 makes the quotient subnormal. Of integers cut toward 0, and 0 where y is 0. The
// hardware's division of integers is undefined by 0, and by -1 where the quotient overflows.
float Quotient(float x, float y)
{
    const float scale = abs(x) > 1.0f && abs(y) > 8.507059e37f ? 0.25f : 1.0f;
    return (x * scale) / (y * scale);
}
double Quotient(double x, double y) { return x / y; }
int Quotient(int x, int y) { return y == 0 ? 0 : y == -1 ? (int)(0 - (uint)x) : x / y; }
int64_t Quotient(int64_t x, int64_t y) { return y == 0 ? 0 : y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y; }
uint Quotient(uint x, uint y) { return y == 0 ? 0 : x / max(y, 1); }
uint64_t Quotient(uint64_t x, uint64_t y) { return y == 0 ? 0 : x / max(y, (uint64_t)1); }
