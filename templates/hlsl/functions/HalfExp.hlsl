// e^x / 2 for x at least 0; as a multiple of 2^64, since e^x overflows before the result.
// needs: ExpTimes

float HalfExp(float x)
{
    return ExpTimes(min(x, 89.5f), 0.0f, -65) * 1.8446744e19f;
}
