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
