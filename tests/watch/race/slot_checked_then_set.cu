// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 128], ["int32", 128, "zero"]]}
// expect: race error line 6 variable table
extern "C" __global__ void k(const int *keys, int *table) {
  int key = keys[blockIdx.x * 64 + threadIdx.x] + 1;
  for (int s = key % 128;; s = (s + 1) % 128) {
    int before = table[s];
    if (before == 0) table[s] = key;
    if (before == 0 || before == key) break;
  }
}
