// verdict: compile pass
// Pragmas that other compilers execute.
#pragma GCC system_header
#pragma once
#pragma push_macro("__global__")
#pragma include_alias("stdio.h", "/etc/passwd")
#pragma comment(lib, "/etc/passwd")
#pragma GCC dependency "/etc/passwd"
_Pragma("GCC dependency \"/etc/passwd\"")
extern "C" __global__ void matmul(const float* A, const float* B, float* C, int n) { C[0] = n; }
