// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["uint32", 64, "zero"]]}
// expect: clean
// A key that is displaced is placed elsewhere: an exchange whose result is used loses nothing.
extern "C" __global__ void k(unsigned *table) {
  unsigned key = blockIdx.x * 32 + threadIdx.x + 1;
  unsigned slot = key % 64;
  for (int moves = 0; moves < 200 && key != 0; ++moves) {
    key = atomicExch(&table[slot], key);
    slot = (slot * 5 + key) % 64;
  }
}
