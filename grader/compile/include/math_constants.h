// CUDA's names for the constants that a kernel needs most.
#pragma once
#include "math.h"
#define CUDART_INF_F INFINITY
#define CUDART_NAN_F NAN
#define CUDART_MAX_NORMAL_F 0x1.fffffep+127f
#define CUDART_MIN_DENORM_F 0x1p-149f
#define CUDART_PI_F 3.141592654f
#define CUDART_PIO2_F 1.570796327f
#define CUDART_2PI_F 6.283185307f
#define CUDART_SQRT_TWO_F 1.414213562f
#define CUDART_LN2_F 0.693147181f
#define CUDART_L2E_F 1.442695041f
#define CUDART_ZERO_F 0.0f
#define CUDART_ONE_F 1.0f
#define CUDART_INF HUGE_VAL
#define CUDART_NAN (__builtin_bit_cast(double, 0x7ff8000000000000))
#define CUDART_PI M_PI
