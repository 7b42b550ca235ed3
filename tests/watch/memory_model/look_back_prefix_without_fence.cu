// launch: {"kernel": "scan", "grid": [5, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 160], ["int32", 160, "out"], ["int32", 5, "zero"], ["int32", 5, "zero"], ["int32", 5, "zero"]]}
// expect: race error line 24 hazard RAW variable inc
extern "C" __global__ void scan(const int *x, int *y, int *agg, int *inc, volatile int *flag) {
  int lane = threadIdx.x, b = blockIdx.x, i = b * 32 + lane;
  int v = x[i];
  for (int d = 1; d < 32; d *= 2) {
    int u = __shfl_up_sync(~0u, v, d);
    if (lane >= d) v += u;
  }
  int total = __shfl_sync(~0u, v, 31), run = 0;
  if (lane == 0) {
    if (b == 0) {
      inc[0] = total;
      __threadfence();
      flag[0] = 2;
    } else {
      agg[b] = total;
      __threadfence();
      flag[b] = 1;
      for (int p = b - 1; ; --p) {
        int f;
        while ((f = flag[p]) == 0) {}
        __threadfence();
        if (f == 2) { run += inc[p]; break; }
        run += agg[p];
      }
      inc[b] = run + total;
      flag[b] = 2;
    }
  }
  run = __shfl_sync(~0u, run, 0);
  y[i] = v + run;
}
