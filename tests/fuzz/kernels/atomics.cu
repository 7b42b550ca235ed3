// launch: {"kernel": "atomics", "grid": [3, 1, 1], "block": [64, 1, 1], "args": [["int32", 192], ["int32", 16, "inout"], ["float32", 4, "inout"], ["uint64", 4, "inout"]]}
extern "C" __global__ void atomics(const int *in, int *bins, float *sums, unsigned long long *wide) {
  __shared__ int local[16];
  __shared__ bool last;
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  if (t < 16) local[t] = 0;
  __syncthreads();
  atomicAdd(&local[in[i] & 15], 1);
  atomicMax(&bins[15], in[i]);
  atomicMin(&bins[14], in[i]);
  atomicXor(&bins[13], in[i]);
  atomicAdd(&sums[i & 3], 0.5f);
  atomicCAS(&wide[1], 0ull, (unsigned long long)i);
  atomicExch(&wide[2], (unsigned long long)in[i]);
  atomicDec((unsigned *)&bins[11], 5);
  atomicAnd(&bins[10], in[i]);
  atomicOr(&bins[9], in[i]);
  atomicSub(&bins[8], 2);
  atomicMin((unsigned *)&bins[7], in[i]);
  atomicMax((unsigned *)&bins[6], in[i]);
  atomicMax((long long *)&wide[1], (long long)in[i]);
  atomicAdd((double *)&wide[2], 1.5);
  atomicInc((unsigned *)&bins[12], 7);
  __syncthreads();
  if (t < 12) atomicAdd(&bins[t], local[t]);
  __threadfence();
  if (t == 0) last = atomicAdd(&wide[0], 1ull) == gridDim.x - 1;
  __syncthreads();
  if (last && t == 0) wide[3] = wide[0];
}
