// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 1, "zero"], ["int32", 1, "zero"]]}
// expect: clean
extern "C" __global__ void k(int *lock, int *sum) {
  unsigned wait = 8;
  for (bool done = false; !done;) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      int now = sum[0] + 1;
      sum[0] = now;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    } else {
      __nanosleep(wait);
      if (wait < 256) wait *= 2;
    }
  }
}
