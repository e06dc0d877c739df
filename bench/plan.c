/* Microseconds for one plan of a description, including validation, and for validation alone; loaded by its callers. */
#define _POSIX_C_SOURCE 199309L
#include <time.h>

#include "dmlops_plan.h"

#define REPETITIONS 20
#define RUNS 500
#define CAPACITY 16

double planning(const DML_OPERATOR_DESC* desc);
double validation(const DML_OPERATOR_DESC* desc);

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int planned(const DML_OPERATOR_DESC* desc) {
    static dmlops_dispatch dispatches[CAPACITY];
    return dmlops_plan(desc, dispatches, CAPACITY) != 0;
}

static int validated(const DML_OPERATOR_DESC* desc) {
    return dmlops_validate(desc, DML_FEATURE_LEVEL_6_4, NULL, 0) == 0;
}

/* The fastest of many runs; 0 if one fails. */
static double microseconds(int (*run)(const DML_OPERATOR_DESC* desc), const DML_OPERATOR_DESC* desc) {
    double best = 1e9;
    for (int turn = 0; turn < RUNS; ++turn) {
        const double start = now();
        for (int i = 0; i < REPETITIONS; ++i) {
            if (!run(desc)) {
                return 0;
            }
        }
        const double taken = (now() - start) / REPETITIONS;
        best = taken < best ? taken : best;
    }
    return best;
}

double planning(const DML_OPERATOR_DESC* desc) {
    return microseconds(planned, desc);
}

double validation(const DML_OPERATOR_DESC* desc) {
    return microseconds(validated, desc);
}
