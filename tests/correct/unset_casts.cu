// A type that the debug sections do not describe, because only casts name it.
struct Message { char c; int n; };

// kernel cast_of_bytes grid 1 block 32
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void cast_of_bytes(int *y) {
  __shared__ alignas(8) unsigned char s[256];
  int t = threadIdx.x;
  ((Message *)s)[t].c = t;
  ((Message *)s)[t].n = t;
  __syncthreads();
  for (int i = t; i < 64; i += 32) y[i] = ((const int *)s)[i];
}

// kernel cast_of_dynamic grid 1 block 32 shared 256
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void cast_of_dynamic(int *y) {
  extern __shared__ int2 d[];
  int t = threadIdx.x;
  reinterpret_cast<Message *>(d)[t].c = t;
  reinterpret_cast<Message *>(d)[t].n = t;
  __syncthreads();
  y[2 * t] = ((const int *)d)[2 * t];
  y[2 * t + 1] = ((const int *)d)[2 * t + 1];
}

// kernel cast_in_lambda grid 1 block 32 shared 256
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void cast_in_lambda(int *y) {
  [&]() {
    extern __shared__ int2 d[];
    int t = threadIdx.x;
    reinterpret_cast<Message *>(d)[t].c = t;
    reinterpret_cast<Message *>(d)[t].n = t;
    __syncthreads();
    y[2 * t] = ((const int *)d)[2 * t];
    y[2 * t + 1] = ((const int *)d)[2 * t + 1];
  }();
}

// Wrong: the numbers were never set, and are copied all the same.
// kernel cast_in_lambda_without_numbers grid 1 block 32 shared 256
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void cast_in_lambda_without_numbers(int *y) {
  [&]() {
    extern __shared__ int2 d[];
    int t = threadIdx.x;
    reinterpret_cast<Message *>(d)[t].c = t;
    __syncthreads();
    y[2 * t] = ((const int *)d)[2 * t];
    y[2 * t + 1] = ((const int *)d)[2 * t + 1];  // <- uninitialized-read
  }();
}

// Wrong: the number was never set, and is used.
// kernel cast_without_number grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void cast_without_number(int *y) {
  __shared__ alignas(8) unsigned char s[256];
  int t = threadIdx.x;
  ((Message *)s)[t].c = t;
  __syncthreads();
  y[t] = ((const int *)s)[2 * t + 1] + 1;  // <- uninitialized-read
}
