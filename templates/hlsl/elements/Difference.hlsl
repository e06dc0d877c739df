// x - y of integers, rounded to a float only once: the magnitude of the exact difference fits in 32 bits.
float Difference(int x, int y, float type)
{
    return x >= y ? (float)((uint)x - (uint)y) : -(float)((uint)y - (uint)x);
}
float Difference(uint x, uint y, float type) { return x >= y ? (float)(x - y) : -(float)(y - x); }
