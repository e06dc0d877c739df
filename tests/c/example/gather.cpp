// The same in C++17, with the shader of the operator at hand.
#include <array>
#include <cstdint>
#include <iostream>
#include <string_view>

#include "dmlops.h"
#include "dmlops_shaders/gather_elements.h"

namespace {

// A packed tensor of two dimensions.
struct Matrix {
    std::array<UINT, 2> sizes;
    DML_BUFFER_TENSOR_DESC buffer{};
    DML_TENSOR_DESC desc{DML_TENSOR_TYPE_BUFFER, &buffer};

    Matrix(DML_TENSOR_DATA_TYPE type, std::size_t element_size, UINT rows, UINT columns) : sizes{rows, columns} {
        buffer.DataType = type;
        buffer.DimensionCount = 2;
        buffer.Sizes = sizes.data();
        buffer.TotalTensorSizeInBytes = element_size * rows * columns;
    }
    Matrix(const Matrix&) = delete;
    Matrix& operator=(const Matrix&) = delete;
};

bool is_valid(const DML_OPERATOR_DESC& desc) {
    std::array<dmlops_violation, 8> found;
    const std::size_t count = dmlops_validate(&desc, DML_FEATURE_LEVEL_6_4, found.data(), found.size());
    for (std::size_t i = 0; i < count && i < found.size(); ++i) {
        std::cout << found[i].rule << "\n    " << found[i].message << '\n';
    }
    return count == 0;
}

} // namespace

int main() {
    const Matrix input{DML_TENSOR_DATA_TYPE_FLOAT32, sizeof(float), 4, 3};
    const Matrix indices{DML_TENSOR_DATA_TYPE_INT64, sizeof(std::int64_t), 2, 3};
    const Matrix output{DML_TENSOR_DATA_TYPE_FLOAT32, sizeof(float), 2, 3};
    DML_GATHER_ELEMENTS_OPERATOR_DESC gather{&input.desc, &indices.desc, &output.desc, 2};
    const DML_OPERATOR_DESC desc{DML_OPERATOR_GATHER_ELEMENTS, &gather};

    if (is_valid(desc)) {
        return 1;
    }
    gather.Axis = 0;
    if (!is_valid(desc)) {
        return 1;
    }
    const auto* text = reinterpret_cast<const char*>(dmlops_shader_gather_elements);
    const std::string_view shader{text, sizeof dmlops_shader_gather_elements};
    std::cout << "valid; its shader has " << shader.size() << " bytes\n";
}
