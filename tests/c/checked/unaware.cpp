/* A program that knows nothing of a proxy: it loads DirectML.dll, and creates an operator that gathers along the wrong axis. */
#include <cstdio>

#include "headers.h"

int main() {
    using function = HRESULT(WINAPI*)(ID3D12Device*, DML_CREATE_DEVICE_FLAGS, DML_FEATURE_LEVEL, REFIID, void**);
    const GUID device_iid = {0x6dbd6437, 0x96fd, 0x423f, {0xa9, 0x8c, 0xae, 0x5e, 0x7c, 0x2a, 0x57, 0x3f}};
    const GUID operator_iid = {0x26caae7a, 0x3081, 0x4633, {0x95, 0x81, 0x22, 0x6f, 0xbe, 0x57, 0x69, 0x5d}};
    const HMODULE library = LoadLibraryA("DirectML.dll");
    if (library == nullptr) {
        std::printf("no DirectML.dll\n");
        return 1;
    }
    const auto create = reinterpret_cast<function>(reinterpret_cast<void*>(GetProcAddress(library, "DMLCreateDevice1")));
    void* made = nullptr;
    void* out = nullptr;
    const HRESULT result = create(nullptr, DML_CREATE_DEVICE_FLAG_NONE, DML_FEATURE_LEVEL_5_0, device_iid, &made);
    std::printf("device %08lx\n", static_cast<unsigned long>(result));
    const UINT four[] = {1, 1, 4, 3}, two[] = {1, 1, 2, 5};
    const DML_BUFFER_TENSOR_DESC input = {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, four, nullptr, 48, 0};
    const DML_BUFFER_TENSOR_DESC indices = {DML_TENSOR_DATA_TYPE_INT64, DML_TENSOR_FLAG_NONE, 4, two, nullptr, 80, 0};
    const DML_BUFFER_TENSOR_DESC output = {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, two, nullptr, 40, 0};
    const DML_TENSOR_DESC tensors[] = {
        {DML_TENSOR_TYPE_BUFFER, &input}, {DML_TENSOR_TYPE_BUFFER, &indices}, {DML_TENSOR_TYPE_BUFFER, &output}};
    const DML_GATHER_ELEMENTS_OPERATOR_DESC gather = {&tensors[0], &tensors[1], &tensors[2], 2};
    const DML_OPERATOR_DESC desc = {DML_OPERATOR_GATHER_ELEMENTS, &gather};
    auto* device = static_cast<IDMLDevice*>(made);
    std::printf("operator %08lx\n", static_cast<unsigned long>(device->CreateOperator(&desc, operator_iid, &out)));
    device->Release();
    if (const HMODULE real = GetModuleHandleA("DirectML.real.dll")) {
        const auto living = reinterpret_cast<int (*)()>(reinterpret_cast<void*>(GetProcAddress(real, "living")));
        std::printf("objects left: %d\n", living());
    }
    return 0;
}
