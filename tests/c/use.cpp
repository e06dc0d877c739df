// A small user of the C++ part of dmlops.h: the exit code says which expectation does not hold, 0 if all do.
#include "dmlops.h"

#include <array>
#include <type_traits>

#if __cplusplus >= 202002L
#include <span>
#endif

namespace {

int failures = 0;
int expectation = 0;

void expect(bool holds) {
    ++expectation;
    failures = failures == 0 && !holds ? expectation : failures;
}

bool same(const UINT* values, std::size_t count, const std::vector<UINT>& expected) {
    return std::vector<UINT>(values, values + count) == expected;
}

void validation() {
    const dmlops::tensor input(DML_TENSOR_DATA_TYPE_FLOAT32, {2, 3});
    const dmlops::tensor indices(DML_TENSOR_DATA_TYPE_INT32, {2, 5});
    DML_GATHER_ELEMENTS_OPERATOR_DESC gather = {input, indices, nullptr, 1};
    const std::optional<dmlops::tensor> output = dmlops::infer_output(gather);
    expect(output.has_value());
    expect(same(output->buffer().Sizes, output->buffer().DimensionCount, {2, 5}));
    gather.OutputTensor = *output;
    expect(dmlops::validate(gather).empty());
    expect(dmlops::validate(dmlops::describe(gather), DML_FEATURE_LEVEL_3_0).empty());
    expect(dmlops::min_feature_level(gather) == DML_FEATURE_LEVEL_3_0);
    gather.Axis = 2;
    const std::vector<dmlops::violation> found = dmlops::validate(gather);
    expect(found.size() == 1 && found[0].rule == "DML-GATHER_ELEMENTS-axis-range" && found[0].member == "Axis");
    expect(found[0].message == "Axis is 2; it must be less than InputTensor.DimensionCount, 2");
    expect(!dmlops::min_feature_level(gather).has_value());
    expect(dmlops::advise(gather).empty());
    expect(!dmlops::infer_output(gather, 1).has_value());
    const DML_CAST_OPERATOR_DESC cast = {input, nullptr};
    expect(!dmlops::infer_output(cast).has_value());
}

void advice() {
    const dmlops::tensor input(DML_TENSOR_DATA_TYPE_FLOAT32, {1, 2, 4, 4});
    const dmlops::tensor regions(DML_TENSOR_DATA_TYPE_FLOAT32, {1, 1, 3, 4});
    const dmlops::tensor batches(DML_TENSOR_DATA_TYPE_UINT32, {1, 1, 1, 3});
    const dmlops::tensor output(DML_TENSOR_DATA_TYPE_FLOAT32, {3, 2, 2, 2});
    const DML_ROI_ALIGN_OPERATOR_DESC align = {
        input, regions, batches, output, DML_REDUCE_FUNCTION_AVERAGE, DML_INTERPOLATION_MODE_LINEAR, 1, 1, 0, 4, 3};
    const std::vector<dmlops::violation> found = dmlops::advise(align);
    expect(dmlops::validate(align).empty());
    expect(found.size() == 1 && found[0].rule == "DML-ROI_ALIGN-sample-range");
    expect(found[0].member == "MinimumSamplesPerOutput");
}

void tensors() {
    static_assert(dmlops::operator_type_of<DML_GATHER_OPERATOR_DESC>::value == DML_OPERATOR_GATHER);
    static_assert(std::is_convertible_v<const dmlops::tensor&, const DML_TENSOR_DESC*>);
    static_assert(!std::is_convertible_v<dmlops::tensor, const DML_TENSOR_DESC*>);
    dmlops::tensor tensor(DML_TENSOR_DATA_TYPE_INT4, {3, 3}, {4, 1}, DML_TENSOR_FLAG_OWNED_BY_DML);
    std::vector<dmlops::tensor> copies(3, tensor);
    copies.push_back(tensor);
    tensor = dmlops::tensor(DML_TENSOR_DATA_TYPE_FLOAT64, {7});
    copies[1] = tensor;
    expect(copies[0].buffer().TotalTensorSizeInBytes == 8);
    expect(copies[0].buffer().Flags == DML_TENSOR_FLAG_OWNED_BY_DML);
    expect(same(copies[3].buffer().Sizes, 2, {3, 3}) && same(copies[3].buffer().Strides, 2, {4, 1}));
    expect(same(copies[1].buffer().Sizes, 1, {7}) && copies[1].buffer().Strides == nullptr);
    expect(copies[1].buffer().TotalTensorSizeInBytes == 56 && tensor.buffer().DimensionCount == 1);
    for (const dmlops::tensor& copy : copies) {
        expect(copy.desc().Desc == &copy.buffer() && copy.desc().Type == DML_TENSOR_TYPE_BUFFER);
    }
}

void names() {
    expect(dmlops::to_string(DML_OPERATOR_GATHER_ND1) == "GATHER_ND1");
    expect(dmlops::to_string(DML_FEATURE_LEVEL_6_4) == "6.4");
    expect(dmlops::to_string(DML_TENSOR_DATA_TYPE_UINT4) == "UINT4");
    expect(dmlops::to_string(DML_EXECUTION_FLAG_NONE) == "NONE");
    expect(
        dmlops::to_string(static_cast<DML_EXECUTION_FLAGS>(5)) ==
        "ALLOW_HALF_PRECISION_COMPUTATION|DESCRIPTORS_VOLATILE");
    expect(dmlops::to_string(static_cast<DML_TENSOR_FLAGS>(0)) == "NONE");
    expect(dmlops::to_string(static_cast<DML_CREATE_DEVICE_FLAGS>(0)) == "NONE");
    expect(dmlops::to_string(static_cast<DML_REDUCE_FUNCTION>(15)) == "15");
}

#if __cplusplus >= 202002L
void newer_language() {
    const std::array<UINT, 2> sizes = {2, 3};
    const std::span<const UINT> span(sizes);
    const dmlops::tensor tensor(DML_TENSOR_DATA_TYPE_FLOAT32, {span.begin(), span.end()});
    expect(same(tensor.buffer().Sizes, 2, {2, 3}));
    const DML_ACTIVATION_RELU_OPERATOR_DESC relu{.InputTensor = tensor, .OutputTensor = tensor};
    expect(dmlops::validate(relu).empty());
}
#endif

} // namespace

int main() {
    validation();
    advice();
    tensors();
    names();
#if __cplusplus >= 202002L
    newer_language();
#endif
    return failures;
}
