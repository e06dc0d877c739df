/* A small user of dmlops.h, for C and C++: exit code 0 when the header accepts and rejects as it must. */
static const UINT sizes[] = {2, 3};

int main(void) {
    DML_BUFFER_TENSOR_DESC input = {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 2, sizes, NULL, 24, 0};
    DML_BUFFER_TENSOR_DESC indices = {DML_TENSOR_DATA_TYPE_INT32, DML_TENSOR_FLAG_NONE, 2, sizes, NULL, 24, 0};
    DML_TENSOR_DESC input_tensor = {DML_TENSOR_TYPE_BUFFER, NULL};
    DML_TENSOR_DESC indices_tensor = {DML_TENSOR_TYPE_BUFFER, NULL};
    DML_GATHER_ELEMENTS_OPERATOR_DESC gather = {NULL, NULL, NULL, 1};
    DML_OPERATOR_DESC desc = {DML_OPERATOR_GATHER_ELEMENTS, NULL};
    dmlops_violation found[2];
    input_tensor.Desc = &input;
    indices_tensor.Desc = &indices;
    gather.InputTensor = gather.OutputTensor = &input_tensor;
    gather.IndicesTensor = &indices_tensor;
    desc.Desc = &gather;
    if (dmlops_validate(&desc, DML_FEATURE_LEVEL_4_1, NULL, 0) != 0) {
        return 1;
    }
    gather.Axis = 2;
    if (dmlops_validate(&desc, DML_FEATURE_LEVEL_4_1, found, 2) != 1) {
        return 2;
    }
    if (strcmp(found[0].rule, "DML-GATHER_ELEMENTS-axis-range") != 0 || strcmp(found[0].member, "Axis") != 0) {
        return 3;
    }
    if (strcmp(dmlops_operator_name(DML_OPERATOR_GATHER_ELEMENTS), "GATHER_ELEMENTS") != 0) {
        return 4;
    }
    return dmlops_operator_name(99999) == NULL ? 0 : 5;
}
