#include <cuda.h>
#include <cuda_runtime.h>
#include <device_launch_parameters.h>
#include <stdio.h>
#include <cstdio>
#include <stdlib.h>
#include <cstdlib>
#include <assert.h>
#include <cassert>
#include <math.h>
#include <cmath>
#include <math_constants.h>
#include <stdint.h>
#include <cstdint>
#include <cstddef>
#include <cstring>
#include <string.h>
#include <limits>
#include <climits>
#include <cfloat>
#include <algorithm>
#include <utility>
#include <type_traits>
#include <ctime>
extern "C" __global__ void k(float* a, uint8_t* b, int64_t n, std::uint32_t m, uint q) {
  std::size_t s = sizeof(nullptr_t); float c[4]; memcpy(c, a, 16); std::memset(c, 0, s);
  a[0] = std::pow(2.0f, a[1]) + std::fabs(a[2]) + M_PI + std::numeric_limits<float>::max() + INFINITY + NAN + FLT_MAX + CUDART_PI_F;
  static_assert(std::numeric_limits<float>::infinity() > FLT_MAX && std::numeric_limits<int>::max() == INT_MAX);
  static_assert(sizeof(std::sqrt(2.f)) == 4 && sizeof(std::abs(2.f)) == 4 && sizeof(int64_t)==8 && sizeof(decltype(std::max(1.f, 2.f)))==4 );
  a[1] = std::max(a[1], a[2]) + std::min(1, 2); std::swap(a[3], a[4]); std::printf("%d\n", INT32_MAX); assert(n > 0);
  int* p = NULL; if (p == nullptr) a[2] = HUGE_VAL; void* v = malloc(4); free(v); a[5] = std::isnan(a[6]); a[7]=max(1,2)+min(3u,4u)+abs(-2)+std::abs(-3)+ std::abs(-2.5f);
    static_assert(std::is_same_v<float, std::remove_cv_t<const float>> && std::is_integral<int>::value);
    a[8] = q + m + b[0];
}
