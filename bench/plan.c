/* Microseconds of one plan of a description, validation included, for callers that load this file. */
#define _POSIX_C_SOURCE 199309L
#define DMLOPS_DISPATCH
#include <time.h>

#include "dmlops.h"

#define REPETITIONS 20
#define RUNS 500
#define CAPACITY 16

double microseconds(const DML_OPERATOR_DESC* desc);

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

double microseconds(const DML_OPERATOR_DESC* desc) {
    static dmlops_dispatch dispatches[CAPACITY];
    double best = 1e9;
    for (int run = 0; run < RUNS; ++run) {
        const double start = now();
        for (int i = 0; i < REPETITIONS; ++i) {
            if (dmlops_plan(desc, dispatches, CAPACITY) == 0) {
                return 0;
            }
        }
        const double taken = (now() - start) / REPETITIONS;
        best = taken < best ? taken : best;
    }
    return best;
}
