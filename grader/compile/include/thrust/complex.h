// NVIDIA's thrust::complex. Its conversions to and from std::complex are marked __host__, which NVRTC
// rejects: here they are device functions, which no kernel calls.
#pragma once
#include <thrust/detail/config.h>
#pragma push_macro("_CCCL_HOST")
#undef _CCCL_HOST
#define _CCCL_HOST __device__
#include_next <thrust/complex.h>
#pragma pop_macro("_CCCL_HOST")
