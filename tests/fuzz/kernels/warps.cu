// launch: {"kernel": "warps", "grid": [2, 1, 1], "block": [64, 1, 1], "args": [["int32", 128], ["int32", 128, "out"]]}
extern "C" __global__ void warps(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i];
  for (int d = 16; d > 0; d /= 2) x += __shfl_down_sync(0xFFFFFFFFu, x, d);
  x = __shfl_sync(0xFFFFFFFFu, x, 0, 16) + __shfl_xor_sync(0xFFFFFFFFu, x, 5) + __shfl_up_sync(0xFFFFFFFFu, x, 3, 8);
  unsigned b = __ballot_sync(0xFFFFFFFFu, x & 1);
  if (__any_sync(0xFFFFFFFFu, x > 5) && !__all_sync(0xFFFFFFFFu, x > 50)) x += b;
  x += __match_any_sync(0xFFFFFFFFu, x & 3) + __reduce_add_sync(0xFFFFFFFFu, i);
  x += __reduce_min_sync(0xFFFFFFFFu, x) ^ __reduce_max_sync(0xFFFFFFFFu, x) ^ __reduce_min_sync(0xFFFFFFFFu, (unsigned)x);
  x += __reduce_and_sync(0xFFFFFFFFu, x) + __reduce_or_sync(0xFFFFFFFFu, x) + __reduce_xor_sync(0xFFFFFFFFu, x);
  int same;
  x += __match_all_sync(0xFFFFFFFFu, (long long)x, &same) + same;
  out[i] = x;
}
