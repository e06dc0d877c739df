/* Nanoseconds for one validation of a valid GATHER_ELEMENTS description: three tensors with sizes and strides. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <time.h>

#include "dmlops.h"

#define REPETITIONS 2000000
#define RUNS 7

static const UINT input_sizes[] = {2, 3, 4, 5};
static const UINT input_strides[] = {60, 20, 5, 1};
static const UINT index_sizes[] = {2, 3, 7, 5};
static const UINT index_strides[] = {105, 35, 5, 1};

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(void) {
    const DML_BUFFER_TENSOR_DESC input = {
        DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, input_sizes, input_strides, 480, 0};
    const DML_BUFFER_TENSOR_DESC index = {
        DML_TENSOR_DATA_TYPE_INT32, DML_TENSOR_FLAG_NONE, 4, index_sizes, index_strides, 840, 0};
    const DML_BUFFER_TENSOR_DESC output = {
        DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, index_sizes, index_strides, 840, 0};
    const DML_TENSOR_DESC tensors[] = {
        {DML_TENSOR_TYPE_BUFFER, &input}, {DML_TENSOR_TYPE_BUFFER, &index}, {DML_TENSOR_TYPE_BUFFER, &output}};
    const DML_GATHER_ELEMENTS_OPERATOR_DESC gather = {&tensors[0], &tensors[1], &tensors[2], 2};
    const DML_OPERATOR_DESC desc = {DML_OPERATOR_GATHER_ELEMENTS, &gather};
    const DML_OPERATOR_DESC* volatile opaque = &desc; /* reread each time, so that the compiler knows nothing of it */
    double best = 1e9;
    size_t violations = 0;
    for (int run = 0; run < RUNS; ++run) {
        const double start = seconds();
        for (int i = 0; i < REPETITIONS; ++i) {
            violations += dmlops_validate(opaque, DML_FEATURE_LEVEL_6_4, NULL, 0);
        }
        const double taken = (seconds() - start) / REPETITIONS * 1e9;
        best = taken < best ? taken : best;
    }
    printf("%.1f\n", best);
    return violations != 0;
}
