// Pointers and references to variables of blocks and rounds, and to temporary objects: in their time and after it.

struct Three {
  int a[3];
  __device__ int *begin() { return a; }
  __device__ int *end() { return a + 3; }
  __device__ int &operator[](int i) { return a[i]; }
  __device__ __forceinline__ int &last() { return a[2]; }
};
struct V {
  int x, y;
  __device__ V(int a, int b) : x(a), y(b) {}
  __device__ __forceinline__ V operator+(const V &o) const { return V(x + o.x, y + o.y); }
  __device__ V &scale(int s) { x *= s; y *= s; return *this; }
};
__device__ Three three(int x) { return {{x, x + 1, x + 2}}; }
__device__ const int &larger(const int &a, const int &b) { return a < b ? b : a; }
__device__ __forceinline__ const int &smaller(const int &a, const int &b) { return b < a ? b : a; }
__device__ const V &larger(const V &a, const V &b) { return a.x < b.x ? b : a; }
__device__ int dot(const V &a, const V &b) { return a.x * b.x + a.y * b.y; }

// kernel extended grid 1 block 32
// out y int32 = 5 + np.arange(32) + 1 + (2 * np.arange(32) + 1) + 7 + 12
extern "C" __global__ void extended(int *y) {
  int t = threadIdx.x;
  const V &v = V(5, t) + V(0, 1);
  V &&w = V(t, t + 1) + V(t, t);
  const int &seven = 7;
  const int &second = three(11).a[1];
  const V *p = &v;
  y[t] = p->x + v.y + w.y + seven + second;
}

// kernel in_its_statement grid 1 block 32
// out y int32 = np.maximum(np.arange(32), 3) + 4 * 2 + 9 + 2
extern "C" __global__ void in_its_statement(int *y) {
  int t = threadIdx.x, most = larger(t, 3);
  int product = dot(larger(V(4, 0),
                           V(1, 2)),
                    larger(
                        V(2, 1),
                        V(0, 6)));
  if (dot(V(1, 2),
          V(2, 3)) > 7 &&
      larger(V(product, 0),
             V(3, 4)).x == 8)
    product += three(7)[2];
  y[t] = most + product + V(1, 1).scale(2).y;
}

// kernel in_heads grid 1 block 32
// out y int32 = np.full(32, 6 + 10 + 3 + 5)
extern "C" __global__ void in_heads(int *y) {
  int sum = 0, k = 0;
  for (int i = smaller(1,
           2); i <= larger(3,
           2); i += larger(0,
           1))
    sum += smaller(i, 9);
  do {
    sum += 5;
  } while (larger(V(++k, 0),
                  V(0, 0)).x < 2);
  while (larger(k,
                0) > 0) {
    sum += 1;
    k = smaller(k - 1,
                9) ;
  }
  sum += 1;
  switch (larger(sum,
                 2)) {
    case 19: sum += larger(5, 4); break;
    default: sum = 0;
  }
  y[threadIdx.x] = sum;
}

// kernel ranges grid 1 block 32
// out y int32 = np.full(32, 1 + 2 + 3 + 4 * (4 + 5 + 6) + 9)
extern "C" __global__ void ranges(int *y) {
  int sum = 0;
  for (int x : three(1))
    sum += x;
  for (auto &x : three(4)) {
    const auto &[a, b, c] = three(x).a;
    sum += b;
    sum += x + a - b + c - 2;
    sum += x;
    sum -= a - x;
  }
  Three kept = three(2);
  for (int *p = kept.begin(); p != kept.end(); ++p)
    sum += *p;
  y[threadIdx.x] = sum;
}

#define EACH(x, range) for (auto &x : range)
#define MOST(a, b) larger(a, b)

// kernel macros grid 1 block 32
// out y int32 = np.full(32, 2 + 2 + 3 + 9)
extern "C" __global__ void macros(int *y) {
  int sum = 0;
  EACH(x, three(1))
    sum += MOST(x,
                2);
  EACH(x, three(2)) {
    sum += x;
  }
  y[threadIdx.x] = sum;
}

// kernel rounds grid 1 block 32
// out y int32 = [sum(4 * i + 5 for i in range(t % 7)) for t in range(32)]
extern "C" __global__ void rounds(int *y) {
  int t = threadIdx.x, sum = 0, *last = &sum;
  for (int i = 0; i < t % 7; i++) {
    int x[2] = {i, t}, *p = x;
    for (int j = 0; j < 2; j++) {
      int z = i + j, *q = &z;
      *p += *q;
      if (j > t) continue;
      *q = 0;
    }
    p[1] = x[0] + 1;
    *last += *p + p[1] - 2 * i + 2;
  }
  y[t] = sum;
}

// kernel recursive grid 1 block 32
// out y int32 = np.full(32, 1 + 3 * (5 + 2) + 3 + 9)
__device__ __noinline__ int depth(int d, const int *up) {
  int sum = *up;
  for (int i = 0; i < 3; i++) {
    int x = 2, *p = &x;
    if (d > 0) sum += depth(d - 1, p) - 6;
    sum += *p + i;
  }
  return sum;
}
extern "C" __global__ void recursive(int *y) {
  int one = 1;
  y[threadIdx.x] = depth(1, &one) - 3 + 12;
}

// kernel sum_kept grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void sum_kept(int *y) {
  const int &most = larger(threadIdx.x, 40);
  y[threadIdx.x] = most - 40;  // <- invalid-access
}

// kernel least_kept grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void least_kept(int *y) {
  const int &least = smaller(threadIdx.x,
                             -4);
  y[threadIdx.x] = least + 4;  // <- invalid-access
}

// kernel element_kept grid 1 block 32
// out y int32 = np.full(32, 9)
extern "C" __global__ void element_kept(int *y) {
  int &last = three(7).last();
  y[threadIdx.x] = last;  // <- invalid-access
}

// kernel scaled_kept grid 1 block 32
// out y int32 = np.full(32, 6)
extern "C" __global__ void scaled_kept(int *y) {
  const V *v = nullptr;
  for (int i = 0; i < 3; i++) {
    v = &V(i, 3).scale(2);
    if (i == 1) continue;
    y[threadIdx.x] = i;
  }
  y[threadIdx.x] = v->y;  // <- invalid-access
}

// kernel written_after grid 1 block 32
// out y int32 = np.full(32, 2)
extern "C" __global__ void written_after(int *y) {
  int *p = y + threadIdx.x;
  {
    int x[2] = {1, 2};
    *p = x[1];
    p = x;
  }
  *p = 4;  // <- invalid-access
}

// kernel of_an_earlier_round grid 1 block 32
// out y int32 = np.full(32, 6)
extern "C" __global__ void of_an_earlier_round(int *y) {
  int sum = 0, *first = nullptr;
  for (int i = 0; i < 3; i++) {
    int x = i;
    if (i == 0) first = &x;
    sum += 1 + *first;  // <- invalid-access
    x = i;
  }
  y[threadIdx.x] = sum;
}

// Expressions that refer to their operands, and temporary objects among these. The compiler keeps addresses of arguments
// in the frame, at places that have no name.
struct Row {
  float v[3];
  __device__ Row(float a, float b, float c) { v[0] = a; v[1] = b; v[2] = c; }
  __device__ const float &operator[](int i) const { return v[i]; }
};
__device__ Row operator+(const Row &a, const Row &b) { return Row(a.v[0] + b.v[0], a.v[1] + b.v[1], a.v[2] + b.v[2]); }
template <class A, class B>
struct Sum {
  const A &a;
  const B &b;
  __device__ Sum(const A &x, const B &y) : a(x), b(y) {}
  __device__ float operator[](int i) const { return a[i] + b[i]; }
};
template <class A, class B>
__device__ Sum<A, B> sum(const A &a, const B &b) { return Sum<A, B>(a, b); }
struct Named { int key; const Row &row; };
struct Range {
  int v[4];
  __device__ Range(int k) { for (int i = 0; i < 4; ++i) v[i] = k + i; }
  __device__ const int *begin() const { return v; }
  __device__ const int *end() const { return v + 4; }
};
__device__ Range range(const Row &a, const Row &b) { return Range(a.v[0] + b.v[0]); }

// Wrong: the inner sum is a temporary object, to which the outer one refers.
// kernel sum_of_a_sum grid 1 block 32
// finds invalid-access error to a temporary object after the statement that made it has ended
// out y float32 = np.zeros(32)
extern "C" __global__ void sum_of_a_sum(float *y) {
  Row a(threadIdx.x, 1, 2), b(1, 2, 3), c(3, 4, 5);
  auto e = sum(a, sum(b, c));
  y[threadIdx.x] = e[1];
}
// kernel sum_of_a_row grid 1 block 32
// finds invalid-access error to a temporary object after the statement that made it has ended
// out y float32 = np.zeros(32)
extern "C" __global__ void sum_of_a_row(float *y) {
  Row a(threadIdx.x, 1, 2), b(1, 2, 3), c(3, 4, 5);
  auto e = sum(a + b, c);
  y[threadIdx.x] = e[0];
}
// kernel sum_in_a_round grid 1 block 32
// finds invalid-access error to a temporary object after the statement that made it has ended
// out y float32 = np.zeros(32)
extern "C" __global__ void sum_in_a_round(float *y) {
  Row a(threadIdx.x, 1, 2), b(1, 2, 3);
  float r = 0;
  for (int k = 0; k < 3; ++k) {
    auto e = sum(a, sum(b, a));
    r += e[k];
  }
  y[threadIdx.x] = r;
}
// kernel sum_in_the_statement grid 1 block 32
// out y float32 = np.zeros(32) + 8
extern "C" __global__ void sum_in_the_statement(float *y) {
  Row a(threadIdx.x, 1, 2), b(1, 2, 3), c(3, 4, 5);
  float r = sum(a, sum(b, c))[1] +
            1;
  y[threadIdx.x] = r;
}
// kernel sum_of_variables grid 1 block 32
// out y float32 = np.zeros(32) + 7
extern "C" __global__ void sum_of_variables(float *y) {
  Row a(threadIdx.x, 1, 2), b(1, 2, 3), c(3, 4, 5);
  auto inner = sum(b, c);
  auto e = sum(a, inner);
  y[threadIdx.x] = e[1];
}
// kernel bound_rows grid 1 block 32
// out y float32 = np.zeros(32) + 3
extern "C" __global__ void bound_rows(float *y) {
  Row a(threadIdx.x, 1, 2), b(1, 2, 3);
  const Row &r = a + b;
  const Row &q = sum(a, b)[0] > 5 ? Row(1, 3, 0) : Row(2, 3, 0);
  auto &&e = sum(a, b);
  float c = e[1];
  y[threadIdx.x] = r[1] + q[1] - c;
}
// kernel members_of_bound_objects grid 1 block 32
// out y float32 = np.arange(32) + 5
extern "C" __global__ void members_of_bound_objects(float *y) {
  const Named &r = Named{2, Row(threadIdx.x, 1, 2)};
  Named q{1, Row(0, 1, 2)};
  y[threadIdx.x] = r.row[0] + r.key + q.row[2] + q.key;
}
// kernel range_of_a_call grid 1 block 32
// out y int32 = np.arange(32) * 4 + 10
extern "C" __global__ void range_of_a_call(int *y) {
  int s = 0;
  Row a(threadIdx.x, 1, 2);
  for (int x : range(a, Row(1, 2, 3)))
    s += x;
  y[threadIdx.x] = s;
}
