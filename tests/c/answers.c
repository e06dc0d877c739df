/* What dmlops.h answers beside violations, as a library for ctypes. */
#include "dmlops.h"

int lowest(const DML_OPERATOR_DESC* desc);
int infer(const DML_OPERATOR_DESC* desc, size_t number, DML_BUFFER_TENSOR_DESC* tensor, UINT* sizes);
uint64_t tensor_size(const DML_BUFFER_TENSOR_DESC* tensor);

int lowest(const DML_OPERATOR_DESC* desc) {
    return (int)dmlops_min_feature_level(desc);
}

int infer(const DML_OPERATOR_DESC* desc, size_t number, DML_BUFFER_TENSOR_DESC* tensor, UINT* sizes) {
    return (int)dmlops_infer_output(desc, number, tensor, sizes);
}

uint64_t tensor_size(const DML_BUFFER_TENSOR_DESC* tensor) {
    return dmlops_tensor_size(tensor->DataType, tensor->DimensionCount, tensor->Sizes, tensor->Strides);
}
