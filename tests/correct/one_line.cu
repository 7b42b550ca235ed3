// Several statements in one line, or in a macro: the hint names the place in the line.
// kernel reads_in_its_line grid 1 block 64
// in a float32 = rng.random(64)
// out b float32 = a[::-1]
// hints Put __syncthreads() between the write and the read in line a<.
extern "C" __global__ void reads_in_its_line(const float *a, float *b) {
  __shared__ float s[64];
  int i = threadIdx.x;
  s[i] = a[i]; b[i] = s[63 - i];  // <a <- race
}

// kernel waits_in_its_line grid 1 block 64
// in a float32 = rng.random(64)
// out b float32 = a[::-1]
extern "C" __global__ void waits_in_its_line(const float *a, float *b) {
  __shared__ float s[64];
  int i = threadIdx.x;
  s[i] = a[i]; __syncthreads(); b[i] = s[63 - i];
}

// kernel next_round_in_its_line grid 1 block 64
// in a float32 = rng.random(256)
// out b float32 = a
// hints Put __syncthreads() at the end of the body of the loop in line b<.
extern "C" __global__ void next_round_in_its_line(const float *a, float *b) {
  __shared__ float s[64];
  int i = threadIdx.x;
  for (int k = 0; k < 4; k++) { s[i] = a[64 * k + i]; __syncthreads(); b[64 * k + i] = s[63 - i]; }  // <b <- race
}

// kernel rounds_in_their_line grid 1 block 64
// in a float32 = rng.random(256)
// out b float32 = a.reshape(4, 64)[:, ::-1].ravel()
extern "C" __global__ void rounds_in_their_line(const float *a, float *b) {
  __shared__ float s[64];
  int i = threadIdx.x;
  for (int k = 0; k < 4; k++) { s[i] = a[64 * k + i]; __syncthreads(); b[64 * k + i] = s[63 - i]; __syncthreads(); }
}

// kernel sums_in_one_line grid 1 block 128
// in a float32 = rng.integers(0, 9, 128)
// out b float32 = [a.sum()]
// hints Put __syncthreads() at the end of the body of the loop in line c<.
extern "C" __global__ void sums_in_one_line(const float *a, float *b) {
  __shared__ float s[128];
  int i = threadIdx.x;
  s[i] = a[i]; __syncthreads(); for (int d = 64; d; d /= 2) { if (i < d) s[i] += s[i + d]; } if (i == 0) *b = s[0];  // <c <- race
}

#define REDUCE(s, n, BARRIER) for (int d = n / 2; d; d /= 2) { if (i < d) s[i] += s[i + d]; BARRIER; }
// kernel sums_by_a_macro grid 1 block 128
// in a float32 = rng.integers(0, 9, 128)
// out b float32 = [a.sum()]
// hints Put __syncthreads() at the end of the body of the loop in line d<.
extern "C" __global__ void sums_by_a_macro(const float *a, float *b) {
  __shared__ float s[128];
  int i = threadIdx.x;
  s[i] = a[i];
  __syncthreads();
  REDUCE(s, 128, )  // <d <- race
  if (i == 0) *b = s[0];
}

// kernel sums_by_a_whole_macro grid 1 block 128
// in a float32 = rng.integers(0, 9, 128)
// out b float32 = [a.sum()]
extern "C" __global__ void sums_by_a_whole_macro(const float *a, float *b) {
  __shared__ float s[128];
  int i = threadIdx.x;
  s[i] = a[i];
  __syncthreads();
  REDUCE(s, 128, __syncthreads())
  if (i == 0) *b = s[0];
}

// kernel acquires_in_its_line grid 2 block 1
// inout f int32 = [0] -> _
// inout n int32 = [0] -> _
// hints Call __threadfence() after the wait in line e<.
extern "C" __global__ void acquires_in_its_line(int *f, int *n) {
  if (blockIdx.x == 0) { n[0] = 1; __threadfence(); atomicExch(f, 1); }
  else { while (atomicAdd(f, 0) == 0) {} n[0] += 1; }  // <e <- race
}

// kernel releases_in_its_line grid 2 block 1
// inout f int32 = [0] -> _
// inout n int32 = [0] -> _
// hints Call __threadfence() before the signal in line f<.
extern "C" __global__ void releases_in_its_line(int *f, int *n) {
  if (blockIdx.x == 0) { n[0] = 1; atomicExch(f, 1); }  // <f
  else { while (atomicAdd(f, 0) == 0) {} __threadfence(); n[0] += 1; }  // <- race
}

// kernel signals_in_its_line grid 2 block 1
// inout f int32 = [0] -> [1]
// inout n int32 = [0] -> [2]
extern "C" __global__ void signals_in_its_line(int *f, int *n) {
  if (blockIdx.x == 0) { n[0] = 1; __threadfence(); atomicExch(f, 1); }
  else { while (atomicAdd(f, 0) == 0) {} __threadfence(); n[0] += 1; }
}
