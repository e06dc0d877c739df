// Functions that mention REAL are written once for both types: they stand for two overloads, in which these names stand
// for the first text or the second, and numbers that end in f end in L where they are doubles. A file may name more.

// for REAL: float, double
// for WORD: uint, uint64_t
// for INTEGER: int, int64_t
// for WORD_BITS: 32, 64

// The parts of a word that holds a number.
// for MAGNITUDE: 0x7fffffffu, 0x7fffffffffffffffull
// for INFINITY: 0x7f800000u, 0x7ff0000000000000ull
// for LEAST_NORMAL: 0x00800000u, 0x0010000000000000ull
// for FRACTION: 0x007fffffu, 0x000fffffffffffffull
// for FRACTION_BITS: 23, 52
// for LEADING_BITS: 8, 11
// for BIAS: 127, 1023

// ln 2, in two parts of which the first has zeros at its end, and inverted.
// for LN2: 0.6931472f, 0.6931471805599453L
// for LN2_HIGH: 0.69314575f, 0.6931471805598903L
// for LN2_LOW: 1.4286068e-6f, 5.497923018708371e-14L
// for INVERSE_LN2: 1.442695f, 1.4426950408889634L

// What rounds to an integer when it is added and taken away; where e^x is infinite; where x + 1 is 1; where it is x.
// for ROUNDER: 12582912.0f, 6755399441055744.0L
// for MOST_OF_EXP: 89.0f, 710.0L
// for HALF_ULP: 2.9802322e-8f, 5.551115123125783e-17L
// for WITHOUT_ONE: 4096.0f, 268435456.0L
