/* Our strict device as a library, which a proxy takes for DirectML.dll. */
#include "headers.h"

#include "dmlops.h"
#include "strict.h"

STDAPI DMLCreateDevice1(ID3D12Device*, DML_CREATE_DEVICE_FLAGS, DML_FEATURE_LEVEL, REFIID iid, void** out) {
    auto* device = new strict::Device;
    if (out == nullptr) {
        device->Release();
        return S_FALSE;
    }
    return device->made(device, iid, out);
}

STDAPI DMLCreateDevice(ID3D12Device* device, DML_CREATE_DEVICE_FLAGS flags, REFIID iid, void** out) {
    return DMLCreateDevice1(device, flags, DML_FEATURE_LEVEL_1_0, iid, out);
}

extern "C" int living() {
    return static_cast<int>(strict::Registry::get().count());
}
