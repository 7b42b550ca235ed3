// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["int32", 64, "out"]]}
// expect: uninitialized-read error line 8 variable c
struct Cell { unsigned kind : 3, age : 5, energy : 12; };
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x;
  Cell c;
  c.kind = in[t];
  out[t] = c.age;
}
