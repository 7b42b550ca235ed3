// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["float32", 64, "out"], ["float32", 32, "out"]]}
// expect: race error line 15 hazard RAW variable data
extern "C" __global__ void k(int *flag, float *data, float *out) {
  int t = threadIdx.x % 32;
  if (threadIdx.x >= 32) {
    data[t] = t;
    __threadfence();
    __syncwarp();
    if (t == 0) atomicExch(flag, 1);
  } else {
    long long start = clock64();
    bool ready = false;
    while (!ready && clock64() - start < 1000000) ready = clock64() - start > 50;
    __threadfence();
    out[t] = data[t];
  }
}
