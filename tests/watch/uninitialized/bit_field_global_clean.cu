// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 64], ["uint32", 64, "out"], ["int32", 64, "out"]]}
// expect: clean
struct Cell { unsigned kind : 3, age : 5, energy : 12; };
extern "C" __global__ void k(const int *in, Cell *cells, int *out) {
  int t = threadIdx.x;
  cells[t].kind = in[t];
  cells[t].energy = 7;
  out[t] = cells[t].energy + cells[t].kind;
}
