/* What dmlops.h answers, as a library for ctypes. */
#include "dmlops.h"

#define CAPACITY 64

const char* judge(const DML_OPERATOR_DESC* desc, DML_FEATURE_LEVEL level, int advice);
int lowest(const DML_OPERATOR_DESC* desc);
int infer(const DML_OPERATOR_DESC* desc, size_t number, DML_BUFFER_TENSOR_DESC* tensor, UINT* sizes);
uint64_t tensor_size(const DML_BUFFER_TENSOR_DESC* tensor);
const char* reason(const DML_OPERATOR_DESC* desc, size_t number);
size_t to_json(const DML_OPERATOR_DESC* desc, char* text, size_t size);

/* The violations, or the advice, as text, "RULE\tMEMBER\tMESSAGE\n" each. */
const char* judge(const DML_OPERATOR_DESC* desc, DML_FEATURE_LEVEL level, int advice) {
    static char text[CAPACITY * sizeof(dmlops_violation)];
    static dmlops_violation found[CAPACITY];
    const size_t count = (advice ? dmlops_advise : dmlops_validate)(desc, level, found, CAPACITY);
    size_t end = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count && i < CAPACITY; ++i) {
        const int written = snprintf(
            text + end, sizeof text - end, "%s\t%s\t%s\n", found[i].rule, found[i].member, found[i].message);
        end += (size_t)written;
    }
    return text;
}

int lowest(const DML_OPERATOR_DESC* desc) {
    return (int)dmlops_min_feature_level(desc);
}

int infer(const DML_OPERATOR_DESC* desc, size_t number, DML_BUFFER_TENSOR_DESC* tensor, UINT* sizes) {
    return (int)dmlops_infer_output(desc, number, tensor, sizes);
}

uint64_t tensor_size(const DML_BUFFER_TENSOR_DESC* tensor) {
    return dmlops_tensor_size(tensor->DataType, tensor->DimensionCount, tensor->Sizes, tensor->Strides);
}

/* Why an output does not follow, "RULE\tMEMBER\tMESSAGE"; "" if it does. */
const char* reason(const DML_OPERATOR_DESC* desc, size_t number) {
    static char text[sizeof(dmlops_violation) + 2];
    dmlops_violation why;
    DML_BUFFER_TENSOR_DESC tensor;
    UINT sizes[DML_TENSOR_DIMENSION_COUNT_MAX1];
    text[0] = '\0';
    if (dmlops_infer_output_or_reason(desc, number, &tensor, sizes, &why) != DMLOPS_INFERRED) {
        snprintf(text, sizeof text, "%s\t%s\t%s", why.rule, why.member, why.message);
    }
    return text;
}

size_t to_json(const DML_OPERATOR_DESC* desc, char* text, size_t size) {
    return dmlops_to_json(desc, text, size);
}
