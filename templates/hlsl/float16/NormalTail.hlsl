// The standard normal distribution function at -a, divided by e^(-a^2/2), for a from 0 to 7: a quotient of polynomials
// without negative terms (minimax, scripts/minimax.py), within 2^-18

float NormalTail(float a)
{
    float above = 0.04628345f;
    above = mad(above, a, 0.23144476f);
    above = mad(above, a, 0.50000128f);
    float below = 6.746069e-5f;
    below = mad(below, a, 0.11434329f);
    below = mad(below, a, 0.59793628f);
    below = mad(below, a, 1.2608766f);
    below = mad(below, a, 1.0f);
    return above * (1.0f / below);
}
