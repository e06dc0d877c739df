// Every bit inverted
uint BitNot(uint x) { return ~x; }
uint64_t BitNot(uint64_t x) { return ~x; }
