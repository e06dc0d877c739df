// The standard normal distribution function at -a, divided by e^(-a^2/2), for a from 0 to 15: a quotient of
// polynomials without negative terms (minimax, scripts/minimax.py), within 2^-27

float NormalTail(float a)
{
    float above = 0.004154401f;
    above = mad(above, a, 0.040888947f);
    above = mad(above, a, 0.18399212f);
    above = mad(above, a, 0.439314f);
    above = mad(above, a, 0.5f);
    float below = 0.010413428f;
    below = mad(below, a, 0.10249949f);
    below = mad(below, a, 0.47146937f);
    below = mad(below, a, 1.205643f);
    below = mad(below, a, 1.676513f);
    below = mad(below, a, 1.0f);
    return above * (1.0f / below);
}
