// e^x.
// Error at most 0.85 ulp (float), 0.85 ulp (double), as measured.
// needs: ExpOfSum

float Exp(float x)
{
    return ExpOfSum(x, 0.0f);
}

double Exp(double x)
{
    return ExpOfSum(x, 0.0L);
}
