/* A wrapped initializer, called by an object for the ABI of MSVC. */
#include <cstdio>

#include "headers.h"

#include "dmlops.h"
#include "dmlops_checked.h"
#include "strict.h"

extern "C" unsigned descriptors(void* dispatchable);
extern "C" {
int _fltused = 0; /* MSVC's objects refer to it */
}

int main() {
    auto* real = new strict::Device;
    IDMLDevice* device = dmlops::checked(real, [](const dmlops::report&) {});
    void* initializer = nullptr;
    device->CreateOperatorInitializer(0, nullptr, strict::initializer_iid, &initializer);
    std::printf("an initializer, by MSVC: %u descriptors\n", descriptors(initializer));
    static_cast<IUnknown*>(initializer)->Release();
    device->Release();
    real->Release();
    std::printf("objects left: %d\n", static_cast<int>(strict::Registry::get().count()));
    return 0;
}
