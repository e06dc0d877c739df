// Whether x is larger than a number; of integers, what is below every one of them, or not, needs no rounding
bool Above(float x, float limit) { return x > limit; }
bool Above(int x, float limit)
{
    return limit < -2147483648.0f || (limit < 2147483648.0f && x > (int)floor(limit));
}
bool Above(uint x, float limit)
{
    return limit < 0.0f || (limit < 4294967296.0f && x > (uint)floor(limit));
}
