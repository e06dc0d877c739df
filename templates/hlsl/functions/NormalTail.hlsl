// The standard normal distribution function at -a, divided by e^(-a^2/2), for a from 0 to 15 (float), 39 (double): a
// quotient of polynomials without negative terms (minimax, scripts/minimax.py), within 2^-27 (float), 2^-59 (double)

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

double NormalTail(double a)
{
    double above = 2.2432491795804827e-07L;
    above = above * a + 6.97967541738056e-06L;
    above = above * a + 0.00010662048156176317L;
    above = above * a + 0.001040106268177211L;
    above = above * a + 0.007125088412214124L;
    above = above * a + 0.035676750676026533L;
    above = above * a + 0.13207203974713222L;
    above = above * a + 0.357396648778606L;
    above = above * a + 0.6796748136410393L;
    above = above * a + 0.827966028805669L;
    above = above * a + 0.5L;
    double below = 5.622991820577951e-07L;
    below = below * a + 1.749545174898284e-05L;
    below = below * a + 0.00026782021291638607L;
    below = below * a + 0.002624655232386879L;
    below = below * a + 0.018126081379654158L;
    below = below * a + 0.0920005211604217L;
    below = below * a + 0.34838655713531974L;
    below = below * a + 0.9802496726014418L;
    below = below * a + 2.0016564856045465L;
    below = below * a + 2.81721202215626L;
    below = below * a + 2.4538166184142036L;
    below = below * a + 1.0L;
    return Divide(above, below);
}
