// launch: {"kernel": "k", "grid": [8, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 8, "zero"], ["int32", 8, "zero"]]}
// expect: clean
// Nobody waits for a lower lock than it has.
extern "C" __global__ void k(int *lock, int *account) {
  if (threadIdx.x) return;
  int from = blockIdx.x, to = (from * 5 + 3) % 8, first = min(from, to), second = max(from, to);
  while (atomicCAS(lock + first, 0, 1)) {}
  while (atomicCAS(lock + second, 0, 1)) {}
  __threadfence();
  account[from] -= 1; account[to] += 1;
  __threadfence();
  atomicExch(lock + second, 0); atomicExch(lock + first, 0);
}
