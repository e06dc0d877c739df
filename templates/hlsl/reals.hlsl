// Functions that mention REAL are written once and become two overloads. The names below stand for the first text in
// that for floats, and for the second in that for doubles, where numbers that end in f end in L. A file may define more
// names.

// for REAL: float, double
// for WORD: uint, uint64_t
// for INTEGER: int, int64_t
// for WORD_BITS: 32, 64

// Parts of a number's word
// for MAGNITUDE: 0x7fffffffu, 0x7fffffffffffffffull
// for INFINITY: 0x7f800000u, 0x7ff0000000000000ull
// for LEAST_NORMAL: 0x00800000u, 0x0010000000000000ull
// for FRACTION: 0x007fffffu, 0x000fffffffffffffull
// for FRACTION_BITS: 23, 52
// for LEADING_BITS: 8, 11
// for BIAS: 127, 1023

// ln 2, also split in two parts, the first of which ends in zero bits; and its reciprocal
// for LN2: 0.6931472f, 0.6931471805599453L
// for LN2_HIGH: 0.69314575f, 0.6931471805598903L
// for LN2_LOW: 1.4286068e-6f, 5.497923018708371e-14L
// for INVERSE_LN2: 1.442695f, 1.4426950408889634L

// Added and subtracted, rounds to an integer; from where e^x is infinite; up to where x + 1 is 1; from where x + 1 is x
// for ROUNDER: 12582912.0f, 6755399441055744.0L
// for MOST_OF_EXP: 89.0f, 710.0L
// for HALF_ULP: 2.9802322e-8f, 5.551115123125783e-17L
// for WITHOUT_ONE: 4096.0f, 268435456.0L
