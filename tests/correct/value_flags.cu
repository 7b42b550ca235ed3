// Values that are their own flags: a volatile read in a loop is repeated until its value is there, which the loop
// tests by a function, by bits, after a conversion, or with other lanes. And reads that no such loop repeats.
#include <math.h>

// kernel by_isnan grid 4 block 1
// inout x float64 = [np.nan]*4 -> [1,2,4,8]
extern "C" __global__ void by_isnan(volatile double *x) {
  double sum = 1;
  for (int j = 0; j < blockIdx.x; j++) {
    double t;
    do t = x[j]; while (isnan(t));
    sum += t;
  }
  x[blockIdx.x] = sum;
}

// kernel by_isnan_in_steps grid 2 block 4
// inout x float64 = [np.nan]*8 -> [1,2,3,4,5,6,7,8]
extern "C" __global__ void by_isnan_in_steps(volatile double *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = 0;
  double sum = 1;
  while (true) {
    if (j == i) { x[i] = sum; break; }
    double t = x[j];
    if (!isnan(t)) { sum += t - j; j++; }
  }
}

// kernel by_isinf grid 3 block 1
// inout x float32 = [np.inf]*3 -> [1,2,3]
extern "C" __global__ void by_isinf(volatile float *x) {
  float t = 0;
  if (blockIdx.x > 0) do t = x[blockIdx.x - 1]; while (isinf(t));
  x[blockIdx.x] = t + 1;
}

// kernel by_isfinite grid 3 block 1
// inout x float64 = [np.inf]*3 -> [1,2,3]
extern "C" __global__ void by_isfinite(volatile double *x) {
  double t = 0;
  if (blockIdx.x > 0) {
    t = x[blockIdx.x - 1];
    while (!isfinite(t)) t = x[blockIdx.x - 1];
  }
  x[blockIdx.x] = t + 1;
}

// kernel by_sign grid 3 block 1
// inout x float64 = [-0.0]*3 -> [1,2,3]
extern "C" __global__ void by_sign(volatile double *x) {
  double t = 0;
  if (blockIdx.x > 0) do t = x[blockIdx.x - 1]; while (signbit(t));
  x[blockIdx.x] = t + 1;
}

// kernel by_bits grid 3 block 1
// inout x int64 = [-1]*3 -> np.array([1.0,2.0,3.0]).view(np.int64)
extern "C" __global__ void by_bits(volatile double *x) {
  double t = 0;
  if (blockIdx.x > 0) do t = x[blockIdx.x - 1]; while (__double_as_longlong(t) == -1);
  x[blockIdx.x] = t + 1;
}

// kernel by_high_word grid 3 block 1
// inout x int64 = [-1]*3 -> np.array([1.0,2.0,3.0]).view(np.int64)
extern "C" __global__ void by_high_word(volatile double *x) {
  double t = 0;
  if (blockIdx.x > 0) do t = x[blockIdx.x - 1]; while ((__double2hiint(t) & 0x7ff00000) == 0x7ff00000);
  x[blockIdx.x] = t + 1;
}

// kernel by_conversion grid 3 block 1
// inout x float64 = [-1.0]*3 -> [1,2,3]
extern "C" __global__ void by_conversion(volatile double *x) {
  double t = 0;
  if (blockIdx.x > 0) do t = x[blockIdx.x - 1]; while (__double2int_rn(t) < 0);
  x[blockIdx.x] = t + 1;
}

__device__ bool is_there(float v) { return !isnan(v) && v < 1e30f; }

// kernel by_own_function grid 3 block 1
// inout x float32 = [np.nan]*3 -> [1,2,3]
extern "C" __global__ void by_own_function(volatile float *x) {
  float t = 0;
  if (blockIdx.x > 0) do t = x[blockIdx.x - 1]; while (!is_there(t));
  x[blockIdx.x] = t + 1;
}

// kernel by_all_lanes grid 2 block 32
// inout x float32 = [np.nan]*64 -> [1]*32 + [2]*32
extern "C" __global__ void by_all_lanes(volatile float *x) {
  float t = 0;
  if (blockIdx.x > 0) do t = x[threadIdx.x]; while (__any_sync(~0u, isnan(t)));
  x[blockIdx.x * 32 + threadIdx.x] = t + 1;
}

// kernel by_first_lane grid 2 block 32
// inout x float32 = [np.nan]*2 -> [1,2]
extern "C" __global__ void by_first_lane(volatile float *x) {
  float t = 0;
  if (blockIdx.x > 0) do t = x[0]; while (isnan(__shfl_sync(~0u, t, 0)));
  __syncwarp();
  if (threadIdx.x == 0) x[blockIdx.x] = t + 1;
}

// Nothing repeats the read: another thread's value may not be there.
// kernel tested_once grid 2 block 1
// inout x float64 = [np.nan]*2 -> _
extern "C" __global__ void tested_once(volatile double *x) {
  double t = 0;
  if (blockIdx.x > 0) t = x[0];  // <- race
  x[blockIdx.x] = isnan(t) ? 0 : t + 1;  // <- race
}

// Another place is tested, and nothing orders the one that is read.
// kernel tested_elsewhere grid 2 block 1
// inout x float64 = [np.nan]*2 -> _
// inout y float64 = [0]*2 -> _
extern "C" __global__ void tested_elsewhere(volatile double *x, volatile double *y) {
  if (blockIdx.x == 0) {
    y[0] = 5;  // <- race
    x[0] = 1;
  } else {
    while (isnan(x[0])) {}
    y[1] = y[0];  // <- race
  }
}

// Plain data behind a value that is its own flag alone.
// kernel tested_for_data grid 2 block 1
// inout x float64 = [np.nan]*2 -> _
// inout y float64 = [0]*2 -> _
extern "C" __global__ void tested_for_data(volatile double *x, double *y) {
  if (blockIdx.x == 0) {
    y[0] = 5;  // <- race
    x[0] = 1;
  } else {
    double t;
    do t = x[0]; while (isnan(t));
    y[1] = y[0] + t;  // <- race
  }
}

// The loop has another end.
// kernel tested_by_count grid 2 block 1
// inout x float64 = [np.nan]*2 -> _
extern "C" __global__ void tested_by_count(volatile double *x) {
  double t = 0;
  if (blockIdx.x > 0)
    for (int k = 0; k < 3; k++) t += x[0];  // <- race
  x[blockIdx.x] = isnan(t) ? 0 : t + 1;  // <- race
}

// The value is plain, which the compiler may read once.
// kernel tested_plain grid 2 block 1
// inout x float64 = [np.nan]*2 -> _
// finds race error hazard
extern "C" __global__ void tested_plain(double *x) {
  double t = 0;
  if (blockIdx.x > 0) { t = x[0]; if (isnan(t)) t = 0; }
  x[blockIdx.x] = t + 1;
}
