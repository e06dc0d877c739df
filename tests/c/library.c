/* All functions of the headers, as a library for ctypes. */
#define DMLOPS_IMPLEMENTATION
#include "dmlops.h"
