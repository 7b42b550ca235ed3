// launch: {"kernel": "syncs", "grid": [2, 1, 1], "block": [96, 1, 1], "args": [["int32", 96], ["int32", 192, "out"]]}
extern "C" __global__ void syncs(const int *in, int *out) {
  __shared__ volatile int s[96];
  int t = threadIdx.x, warp = t / 32;
  s[t] = in[t];
  __syncwarp();
  int x = s[t ^ 1];
  __syncwarp(0xFFFFFFFFu);
  if (warp == 0) asm volatile("bar.sync 1, 64;" ::: "memory");
  if (warp == 1) asm volatile("bar.arrive 1, 64;" ::: "memory");
  int all = __syncthreads_and(x > 0), any = __syncthreads_or(x > 3), count = __syncthreads_count(t & 1);
  __threadfence_block();
  asm volatile("barrier.sync 2, 96;" ::: "memory");
  if (t & 1) { s[t] = all + any; __syncwarp(0xAAAAAAAAu); } else { __syncwarp(0x55555555u); }
  __syncthreads();
  out[blockIdx.x * 96 + t] = s[95 - t] + count + x + __activemask();
}
