// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["int32", 32, "out"]]}
// expect: uninitialized-read error line 14 variable r
// expect: invalid-access error line 9
// expect: launch-failure error line 9
// first: uninitialized-read line 14 variable r
struct Range { int *first; int count; };
struct View {
  int *p;
  __device__ void set(int i) { p[i] = i; }
  __device__ View(int *q) : p(q) {}
};
extern "C" __global__ void k(int *y) {
  Range r;
  View v(r.first);
  v.set(threadIdx.x);
}
