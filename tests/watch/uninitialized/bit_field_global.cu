// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["uint32", 64, "out"], ["int32", 64, "out"]]}
// expect: uninitialized-read error line 7 variable cells
struct Cell { unsigned kind : 3, age : 5, energy : 12; };
extern "C" __global__ void k(const int *in, Cell *cells, int *out) {
  int t = threadIdx.x;
  cells[t].kind = in[t];
  out[t] = cells[t].energy;
}
