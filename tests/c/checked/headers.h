/* The genuine headers, on Linux and on Windows. */
#pragma once
#ifdef _WIN32
#include <windows.h>
#else
#include <wsl/winadapter.h>
#endif
#include <mutex>

#include <directx/d3d12.h>
#include <directx/DirectML.h>

#ifdef _WIN32 /* one of MinGW's thread models has no std::mutex and no std::thread */
struct Mutex {
    SRWLOCK inner = SRWLOCK_INIT;
    void lock() { AcquireSRWLockExclusive(&inner); }
    void unlock() { ReleaseSRWLockExclusive(&inner); }
};
#else
using Mutex = std::mutex;
#endif
