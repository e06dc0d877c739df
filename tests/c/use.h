/* A small user of dmlops.h, for C and C++: exit code 0 when the header accepts and rejects as it must. */
static const UINT sizes[] = {2, 3};

int main(void) {
    DML_BUFFER_TENSOR_DESC input = {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 2, sizes, NULL, 24, 0};
    DML_BUFFER_TENSOR_DESC indices = {DML_TENSOR_DATA_TYPE_INT32, DML_TENSOR_FLAG_NONE, 2, sizes, NULL, 24, 0};
    DML_TENSOR_DESC input_tensor = {DML_TENSOR_TYPE_BUFFER, NULL};
    DML_TENSOR_DESC indices_tensor = {DML_TENSOR_TYPE_BUFFER, NULL};
    DML_GATHER_ELEMENTS_OPERATOR_DESC gather = {NULL, NULL, NULL, 1};
    DML_OPERATOR_DESC desc = {DML_OPERATOR_GATHER_ELEMENTS, NULL};
    DML_BUFFER_TENSOR_DESC output;
    DML_TENSOR_DESC output_tensor = {DML_TENSOR_TYPE_BUFFER, NULL};
    UINT output_sizes[DML_TENSOR_DIMENSION_COUNT_MAX1];
    dmlops_violation found[2];
    input_tensor.Desc = &input;
    indices_tensor.Desc = &indices;
    gather.InputTensor = gather.OutputTensor = &input_tensor;
    gather.IndicesTensor = &indices_tensor;
    desc.Desc = &gather;
    output_tensor.Desc = &output;
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
    if (strcmp(dmlops_feature_level_name(DML_FEATURE_LEVEL_5_2), "5.2") != 0) {
        return 5;
    }
    if (strcmp(dmlops_member_name(DML_OPERATOR_GATHER_ELEMENTS, 3), "Axis") != 0) {
        return 6;
    }
    if (dmlops_member_name(DML_OPERATOR_GATHER_ELEMENTS, 4) != NULL || dmlops_member_name(99999, 0) != NULL) {
        return 7;
    }
    if (dmlops_operator_name(99999) != NULL || dmlops_tensor_data_type_name(99999) != NULL) {
        return 8;
    }
    gather.Axis = 1;
    gather.OutputTensor = NULL;
    if (dmlops_infer_output(&desc, 0, &output, output_sizes) != DMLOPS_INFERRED || output_sizes[1] != 3) {
        return 9;
    }
    gather.OutputTensor = &output_tensor;
    return dmlops_min_feature_level(&desc) == DML_FEATURE_LEVEL_3_0 ? 0 : 10;
}
