// x * scale + bias; for integers in double precision, truncated and saturated to the type
float Scaled(float x, float scale, float bias)
{
    precise float result = x * scale + bias;
    return result;
}
double Scaled(double x, double scale, double bias)
{
    precise double result = x * scale + bias;
    return result;
}
int Scaled(int x, float scale, float bias) { return Convert(Scaled((double)x, (double)scale, (double)bias), x); }
uint Scaled(uint x, float scale, float bias) { return Convert(Scaled((double)x, (double)scale, (double)bias), x); }
int64_t Scaled(int64_t x, float scale, float bias) { return Convert(Scaled((double)x, (double)scale, (double)bias), x); }
uint64_t Scaled(uint64_t x, float scale, float bias) { return Convert(Scaled((double)x, (double)scale, (double)bias), x); }
