// x / y. Floats use the hardware's division, which Vulkan allows to be off by 2.5 ulp, and arbitrarily far where |y| >
// 2^126: both operands are scaled down there, unless |x| <= 1, where the quotient is subnormal. Integers truncate, and
// give 0 if y is 0: the hardware's integer division is undefined by 0, and by -1 if the quotient overflows.
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
