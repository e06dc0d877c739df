// x - y of integers of 32 bits, rounded to a float only once: the magnitude of the difference fits in 32 bits.
float Difference(int64_t x, int64_t y, float type)
{
    const int64_t difference = x - y;
    const float magnitude = (float)(uint)(difference < 0 ? 0 - difference : difference);
    return difference < 0 ? -magnitude : magnitude;
}
double Difference(int64_t x, int64_t y, double type) { return (double)(x - y); }
