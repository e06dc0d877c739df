/* A library that stands in for DirectML.dll beside a program, passes every call on to the real one, and says which rule a call
 * breaks. For programs whose source you do not have; see docs/CHECKING.md.
 *
 * The real library is DMLOPS_DIRECTML, or DirectML.real.dll in the folder of this one, or that of Windows. Other environment
 * variables: DMLOPS_LOG (a file, instead of debugger and stderr), DMLOPS_LEVEL (such as 5.0), DMLOPS_ADVISE=1, DMLOPS_MUTE
 * (identifiers between commas), DMLOPS_LIMIT (0: every report), DMLOPS_BREAK=1, DMLOPS_REFUSE=1, DMLOPS_CAPTURE (a folder).
 */
#include <windows.h>

#if __has_include(<directx/DirectML.h>)
#include <directx/d3d12.h>

#include <directx/DirectML.h>
#if __has_include(<directx/d3d12sdklayers.h>)
#include <directx/d3d12sdklayers.h>
#endif
#else
#include <d3d12.h>
#include <d3d12sdklayers.h>

#include <DirectML.h>
#endif

#define DMLOPS_CHECKED_IMPLEMENTATION
#include "dmlops_checked.h"

namespace {

std::wstring variable(const wchar_t* name) {
    std::wstring value(GetEnvironmentVariableW(name, nullptr, 0), L'\0');
    value.resize(GetEnvironmentVariableW(name, value.data(), static_cast<DWORD>(value.size())));
    return value;
}

/* A variable in the encoding of file names. */
std::string setting(const wchar_t* name) {
    const std::wstring wide = variable(name);
    const int size = static_cast<int>(wide.size());
    std::string value(static_cast<size_t>(WideCharToMultiByte(CP_ACP, 0, wide.data(), size, nullptr, 0, nullptr, nullptr)), '\0');
    WideCharToMultiByte(CP_ACP, 0, wide.data(), size, value.data(), static_cast<int>(value.size()), nullptr, nullptr);
    return value;
}

bool is_set(const wchar_t* name) {
    const std::string value = setting(name);
    return !value.empty() && value != "0";
}

dmlops::checks settings() {
    dmlops::checks how;
    const std::string level = setting(L"DMLOPS_LEVEL");
    for (const dmlops_named* one = dmlops_names_FEATURE_LEVEL; one->name != nullptr; ++one) {
        how.level = level == one->name ? static_cast<DML_FEATURE_LEVEL>(one->value) : how.level;
    }
    std::string mute = setting(L"DMLOPS_MUTE") + ",";
    for (size_t end = mute.find(','); end != std::string::npos; end = mute.find(',')) {
        how.mute.push_back(mute.substr(0, end));
        mute.erase(0, end + 1);
    }
    if (!setting(L"DMLOPS_LIMIT").empty()) {
        how.limit = static_cast<unsigned>(std::strtoul(setting(L"DMLOPS_LIMIT").c_str(), nullptr, 10));
    }
    how.refuse = is_set(L"DMLOPS_REFUSE");
    how.advise = is_set(L"DMLOPS_ADVISE");
    how.error = is_set(L"DMLOPS_BREAK") ? dmlops::on_error::break_in : dmlops::on_error::go_on;
    how.capture = setting(L"DMLOPS_CAPTURE");
    return how;
}

/* A device that reports to a file, if one is given, otherwise as dmlops::checked does. */
IDMLDevice* wrapped(IDMLDevice* device) {
    const std::string log = setting(L"DMLOPS_LOG");
    if (log.empty()) {
        return dmlops::checked(device, settings());
    }
    const auto lock = std::make_shared<dmlops::checking::mutex>();
    return dmlops::checked(device, [log, lock](const dmlops::report& what) {
        const dmlops::checking::locked writing(*lock);
        if (std::FILE* file = std::fopen(log.c_str(), "ab")) {
            std::fprintf(file, "%s\n", dmlops::text(what).c_str());
            std::fclose(file);
        }
    }, settings());
}

std::wstring beside_this(const wchar_t* name) {
    HMODULE self = nullptr;
    wchar_t path[4096] = L"";
    const DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    GetModuleHandleExW(flags, reinterpret_cast<const wchar_t*>(&beside_this), &self);
    GetModuleFileNameW(self, path, static_cast<DWORD>(sizeof path / sizeof *path) - 1);
    const std::wstring whole = path;
    return whole.substr(0, whole.find_last_of(L"\\/") + 1) + name;
}

HMODULE real_library() {
    static const HMODULE library = [] {
        const std::wstring chosen = variable(L"DMLOPS_DIRECTML");
        const std::wstring beside = beside_this(L"DirectML.real.dll");
        if (!chosen.empty() || GetFileAttributesW(beside.c_str()) != INVALID_FILE_ATTRIBUTES) {
            return LoadLibraryExW((chosen.empty() ? beside : chosen).c_str(), nullptr, LOAD_WITH_ALTERED_SEARCH_PATH);
        }
        wchar_t system[MAX_PATH] = L"";
        GetSystemDirectoryW(system, MAX_PATH);
        return LoadLibraryW((std::wstring(system) + L"\\DirectML.dll").c_str());
    }();
    return library;
}

/* Calls a function of the real library, and wraps the device that it makes. */
template <class Function, class... Arguments>
HRESULT made(const char* name, REFIID iid, void** out, Arguments... arguments) {
    const HMODULE library = real_library();
    const auto address = library == nullptr ? nullptr : reinterpret_cast<void*>(GetProcAddress(library, name));
    const auto function = reinterpret_cast<Function>(address);
    if (function == nullptr) {
        std::fputs("dmlops: there is no DirectML.dll to pass calls on to; set DMLOPS_DIRECTML to its path\n", stderr);
        return HRESULT_FROM_WIN32(GetLastError());
    }
    if (out == nullptr) {
        return function(arguments..., iid, nullptr);
    }
    void* device = nullptr;
    *out = nullptr;
    HRESULT result = function(arguments..., dmlops::checking::iid_IDMLDevice, &device);
    if (result == S_OK) {
        IDMLDevice* const real = static_cast<IDMLDevice*>(device);
        IDMLDevice* const checked = wrapped(real);
        real->Release();
        result = checked->QueryInterface(iid, out);
        checked->Release();
    }
    return result;
}

} /* namespace */

STDAPI DMLCreateDevice(ID3D12Device* device, DML_CREATE_DEVICE_FLAGS flags, REFIID iid, void** out) {
    using function = HRESULT(WINAPI*)(ID3D12Device*, DML_CREATE_DEVICE_FLAGS, REFIID, void**);
    return made<function>("DMLCreateDevice", iid, out, device, flags);
}

STDAPI DMLCreateDevice1(
    ID3D12Device* device, DML_CREATE_DEVICE_FLAGS flags, DML_FEATURE_LEVEL least, REFIID iid, void** out) {
    using function = HRESULT(WINAPI*)(ID3D12Device*, DML_CREATE_DEVICE_FLAGS, DML_FEATURE_LEVEL, REFIID, void**);
    return made<function>("DMLCreateDevice1", iid, out, device, flags, least);
}
