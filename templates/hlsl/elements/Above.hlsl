// Whether x > limit. Integers are compared exactly: a limit below or above all of them decides without conversion.
bool Above(float x, float limit) { return x > limit; }
bool Above(int x, float limit)
{
    return limit < -2147483648.0f || (limit < 2147483648.0f && x > (int)floor(limit));
}
bool Above(uint x, float limit)
{
    return limit < 0.0f || (limit < 4294967296.0f && x > (uint)floor(limit));
}
