// e^x.
// Error at most 0.85 ulp (float), 0.85 ulp (double), as measured.
// needs: ExpOfSum

REAL Exp(REAL x)
{
    return ExpOfSum(x, 0.0f);
}
