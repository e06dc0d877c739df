// Whether x < limit. Integers are compared exactly: a limit below or above all of them decides without conversion.
bool Below(float x, float limit) { return x < limit; }
bool Below(int x, float limit)
{
    return limit >= 2147483648.0f || (limit > -2147483648.0f && x < (int)ceil(limit));
}
bool Below(uint x, float limit)
{
    return limit >= 4294967296.0f || (limit > 0.0f && x < (uint)ceil(limit));
}
