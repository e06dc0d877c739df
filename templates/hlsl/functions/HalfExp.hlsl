// e^x / 2 for x at least 0, even where e^x overflows: ln 2 is subtracted in two steps.

float HalfExp(float x)
{
    precise float high = x - 0.6931472f;
    precise float low = ((x - high) - 0.6931472f) + 1.9046544e-9f;
    return ExpOfSum(high, low);
}

double HalfExp(double x)
{
    precise double high = x - 0.6931471805599453L;
    precise double low = ((x - high) - 0.6931471805599453L) - 2.3190468138462996e-17L;
    return ExpOfSum(high, low);
}
