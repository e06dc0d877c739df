/* A description that DirectML refuses with E_INVALIDARG, what is wrong with it, and the same mended. */
#include <stdio.h>

#include "dmlops.h"

static int is_valid(const DML_OPERATOR_DESC* desc) {
    dmlops_violation found[8];
    const size_t count = dmlops_validate(desc, DML_FEATURE_LEVEL_6_4, found, 8);
    for (size_t i = 0; i < count && i < 8; ++i) {
        printf("%s\n    %s\n", found[i].rule, found[i].message);
    }
    return count == 0;
}

int main(void) {
    const UINT input_sizes[] = {4, 3};
    UINT indices_sizes[] = {2, 5};
    const DML_BUFFER_TENSOR_DESC input = {
        .DataType = DML_TENSOR_DATA_TYPE_FLOAT32,
        .DimensionCount = 2,
        .Sizes = input_sizes,
        .TotalTensorSizeInBytes = 4 * 3 * sizeof(float),
    };
    const DML_BUFFER_TENSOR_DESC indices = {
        .DataType = DML_TENSOR_DATA_TYPE_INT64,
        .DimensionCount = 2,
        .Sizes = indices_sizes,
        .TotalTensorSizeInBytes = 2 * 5 * sizeof(int64_t),
    };
    const DML_BUFFER_TENSOR_DESC output = {
        .DataType = DML_TENSOR_DATA_TYPE_FLOAT32,
        .DimensionCount = 2,
        .Sizes = indices_sizes,
        .TotalTensorSizeInBytes = 2 * 5 * sizeof(float),
    };
    const DML_TENSOR_DESC input_tensor = {DML_TENSOR_TYPE_BUFFER, &input};
    const DML_TENSOR_DESC indices_tensor = {DML_TENSOR_TYPE_BUFFER, &indices};
    const DML_TENSOR_DESC output_tensor = {DML_TENSOR_TYPE_BUFFER, &output};
    DML_GATHER_ELEMENTS_OPERATOR_DESC gather = {
        .InputTensor = &input_tensor,
        .IndicesTensor = &indices_tensor,
        .OutputTensor = &output_tensor,
        .Axis = 2,
    };
    const DML_OPERATOR_DESC desc = {DML_OPERATOR_GATHER_ELEMENTS, &gather};

    if (is_valid(&desc)) {
        return 1;
    }
    gather.Axis = 0;
    if (is_valid(&desc)) {
        return 1;
    }
    indices_sizes[1] = 3; /* only the axis may differ from the input */
    if (!is_valid(&desc)) {
        return 1;
    }
    printf("valid\n");
    return 0;
}
