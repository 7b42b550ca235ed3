// What nvcc gives every .cu file without being asked, as far as device code can use it.
// The vector types, dim3, the built-in variables and the math functions are the compiler's own.
#pragma once
#include "float.h"
#include "limits.h"
#include "math.h"
#include "stddef.h"
#include "stdint.h"

namespace std {} // for `using namespace std;`, which programs have for their host code

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;

// A program that includes cuda_device_runtime_api.h has functions of these names, which are preferred.
template <typename T = void> __device__ __forceinline__ void cudaGridDependencySynchronize() {
    asm volatile("griddepcontrol.wait;" ::: "memory");
}
template <typename T = void> __device__ __forceinline__ void cudaTriggerProgrammaticLaunchCompletion() {
    asm volatile("griddepcontrol.launch_dependents;");
}
