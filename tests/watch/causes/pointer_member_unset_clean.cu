// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32, "out"]]}
// expect: clean
struct Range { int *first; int count; };
struct View {
  int *p;
  __device__ void set(int i) { p[i] = i; }
  __device__ View(int *q) : p(q) {}
};
extern "C" __global__ void k(int *y) {
  Range r = {y, 32};
  View v(r.first);
  v.set(threadIdx.x);
}
