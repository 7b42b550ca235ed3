// Members without a value that are passed to constructors: the finding names the member, where it
// is passed. A value that is passed, and not used, is no error.

struct Range { const int *first; int count; };
struct View {
  const int *p;
  int n;
  __device__ View(const int *q, int m) : p(q), n(m) {}
  __device__ int get(int i) const { return p[i]; }
};

// kernel view_of_a_range grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = np.arange(32)
extern "C" __global__ void view_of_a_range(const int *x, int *y) {
  Range r;
  r.first = x;
  View v(r.first, r.count);
  y[threadIdx.x] = v.get(threadIdx.x);
}

struct Both {
  View in;
  __device__ Both(const Range &r) : in(r.first, r.count) {}
};

// kernel count_of_no_range grid 1 block 32
// in x int32 = np.arange(32)
// out y int32 = np.arange(32)
// finds uninitialized-read error local variable `r.count` is used before it has a value
extern "C" __global__ void count_of_no_range(const int *x, int *y) {
  Range r;
  r.first = x;
  Both b(r);
  y[threadIdx.x] = threadIdx.x < b.in.n ? b.in.get(threadIdx.x) : 0;
}
