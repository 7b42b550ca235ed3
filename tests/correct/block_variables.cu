// Variables of blocks in loops: each round has its own, which begins without a value.

// kernel kept_scalar grid 1 block 32
// out y int32 = np.zeros(128)
extern "C" __global__ void kept_scalar(int *y) {
  for (int i = 0; i < 4; ++i) {
    int x;
    if (i == 0) x = 5;
    y[32 * i + threadIdx.x] = x;  // <- uninitialized-read
  }
}

// kernel kept_array grid 1 block 32
// out y int32 = np.zeros(128)
extern "C" __global__ void kept_array(int *y) {
  for (int i = 0; i < 4; ++i) {
    int x[4];
    x[i] = i;
    y[32 * i + threadIdx.x] = x[(threadIdx.x >> 5) + i / 2];  // <- uninitialized-read
  }
}

// kernel kept_by_pointer grid 1 block 32
// out y int32 = np.zeros(128)
__device__ __noinline__ void set(int *p, int i) { if (i == 0) *p = 3; }
extern "C" __global__ void kept_by_pointer(int *y) {
  for (int i = 0; i < 4; ++i) {
    int x;
    set(&x, i);
    y[32 * i + threadIdx.x] = x;  // <- uninitialized-read
  }
}

// kernel kept_member grid 1 block 32
// out y float32 = np.zeros(128)
struct Sum { float s, c; };
extern "C" __global__ void kept_member(float *y) {
  int i = 0;
  while (i < 4) {
    Sum a;
    if (i % 2 == 0) a.s = 1, a.c = 2;
    float *p = &a.c;
    y[32 * i + threadIdx.x] = *p;  // <- uninitialized-read
    ++i;
  }
}

// kernel kept_in_nested_block grid 1 block 32
// out y int32 = np.zeros(128)
extern "C" __global__ void kept_in_nested_block(int *y) {
  for (int i = 0; i < 4; ++i) {
    int sum = 0;
    {
      int last;
      if (i < 2) last = i;
      sum += last;  // <- uninitialized-read
    }
    y[32 * i + threadIdx.x] = sum;  // <- uninitialized-read
  }
}

// kernel kept_between_inner_loops grid 1 block 32
// out y int32 = np.zeros(128)
extern "C" __global__ void kept_between_inner_loops(int *y) {
  for (int i = 0; i < 4; ++i) {
    int best;
    for (int k = i; k < 1; ++k) best = k;
    y[32 * i + threadIdx.x] = best;  // <- uninitialized-read
  }
}

// kernel initialized grid 1 block 32
// out y int32 = np.arange(4).repeat(32) * 10 + 3
extern "C" __global__ void initialized(int *y) {
  for (int i = 0; i < 4; ++i) {
    int x = i, z = x, a[2] = {x}, *p = &z;
    const int c[3] = {1, 2, 3};
    for (int k = 0; k < 9; ++k) x += i;
    *p = 0;
    y[32 * i + threadIdx.x] = x + a[1] + c[2] + z;
  }
}

// kernel outer_of_inner_loop grid 1 block 32
// out y int32 = np.full(128, 5)
extern "C" __global__ void outer_of_inner_loop(int *y) {
  for (int i = 0; i < 4; ++i) {
    int x, first = 1, k = 0;
    while (k < 3) {
      if (first) x = 5, first = 0;
      y[32 * i + threadIdx.x] = x;
      ++k;
    }
  }
}

// kernel begins_with_inner_do grid 1 block 32
// out y int32 = np.full(128, 5)
extern "C" __global__ void begins_with_inner_do(int *y) {
  int k = 0;
  for (int i = 0; i < 4; ++i) {
    int x;
    do {
      if (k % 3 == 0) x = 5;
      y[32 * i + threadIdx.x] = x;
    } while (++k % 3);
  }
}

// kernel begins_with_inner_for_ever grid 1 block 32
// out y int32 = np.full(128, 5)
extern "C" __global__ void begins_with_inner_for_ever(int *y) {
  int k = 0;
  for (int i = 0; i < 4; ++i) {
    int x;
    for (;;) {
      if (k % 3 == 0) x = 5;
      y[32 * i + threadIdx.x] = x;
      if (++k % 3 == 0) break;
    }
  }
}

// kernel begins_with_inner_array_do grid 1 block 32
// out y int32 = np.full(128, 5)
extern "C" __global__ void begins_with_inner_array_do(int *y) {
  int k = 0;
  for (int i = 0; i < 4; ++i) {
    int x[2];
    do {
      if (k % 3 == 0) x[i & 1] = 5;
      y[32 * i + threadIdx.x] = x[i & 1];
    } while (++k % 3);
  }
}

// kernel goes_back grid 1 block 32
// out y int32 = np.full(32, 15)
extern "C" __global__ void goes_back(int *y) {
  int sum = 0;
  {
    int x = 0, k;
    k = 0;
again:
    if (k == 0) x = 5;
    sum += x;
    if (++k < 3) goto again;
  }
  y[threadIdx.x] = sum;
}

// kernel begins_with_label grid 1 block 32
// inout n int32 = [0] -> _
// out y int32 = np.full(32, 15)
extern "C" __global__ void begins_with_label(int *n, int *y) {
  int sum = 0, k = 0, x;
  {
again:
    if (k == 0) x = 5;
    sum += x;
    if (++k < 3) goto again;
  }
  y[threadIdx.x] = sum;
}

// kernel switched grid 1 block 32
// out y int32 = np.tile([1, 3, 2, 9], 32)
extern "C" __global__ void switched(int *y) {
  for (int i = 0; i < 4; ++i) {
    switch (i) {
      int x;
      case 0: x = 1; y[4 * threadIdx.x] = x; break;
      case 1: x = 1;
      case 2: x = i == 1 ? x + 2 : 2; y[4 * threadIdx.x + i] = x; break;
      default: y[4 * threadIdx.x + i] = 9;
    }
  }
}

// kernel unrolled_by_switch grid 1 block 32
// out y int32 = np.full(32, 7)
extern "C" __global__ void unrolled_by_switch(int *y) {
  int n = 7, sum = 0, k = (n + 3) / 4;
  switch (n % 4) {
    case 0: do { sum++;
    case 3: sum++;
    case 2: sum++;
    case 1: sum++;
    } while (--k > 0);
  }
  y[threadIdx.x] = sum;
}

// kernel outside_of_loop grid 1 block 32
// out y int32 = np.full(128, 5)
extern "C" __global__ void outside_of_loop(int *y) {
  int x, held[2];
  for (int i = 0; i < 4; ++i) {
    if (i == 0) x = 2, held[0] = 3;
    int *p = held;
    y[32 * i + threadIdx.x] = x + p[i & 0];
  }
}

// kernel previous_round grid 1 block 32
// out y int32 = np.maximum(np.arange(4) - 1, 0).repeat(32)
extern "C" __global__ void previous_round(int *y) {
  int before;
  for (int i = 0; i < 4; ++i) {
    int x;
    if (i % 2) x = i; else x = i + 0;
    y[32 * i + threadIdx.x] = i > 0 ? before : 0;
    before = x;
  }
}

// kernel static_variable grid 1 block 32
// out y int32 = np.full(128, 32)
extern "C" __global__ void static_variable(int *y) {
  for (int i = 0; i < 4; ++i) {
    __shared__ int x;
    if (i == 0) {
      if (threadIdx.x == 0) x = 0;
      __syncthreads();
      atomicAdd(&x, 1);
    }
    __syncthreads();
    y[32 * i + threadIdx.x] = x;
  }
}

// kernel objects_and_lambdas grid 1 block 32
// out y int32 = np.arange(4).repeat(32) * 3 + 1
struct Counter {
  int n, unused[3];
  __device__ Counter(int start) : n(start) {}
  __device__ void add(int k) { n += k; }
};
extern "C" __global__ void objects_and_lambdas(int *y) {
  for (int i = 0; i < 4; ++i) {
    Counter c(1);
    int k;
    auto twice = [&](int by) { c.add(by); k = by; c.add(k); };
    twice(i);
    c.add(k);
    y[32 * i + threadIdx.x] = c.n;
  }
}

// kernel lanes_apart grid 1 block 32
// out y int32 = np.tile([1, 2], 64)
extern "C" __global__ void lanes_apart(int *y) {
  for (int i = 0; i < 4; ++i) {
    int x;
    if (threadIdx.x % 2) x = 2;
    if (threadIdx.x % 2 == 0) x = 1;
    if (i > (int)threadIdx.x) { y[32 * i + threadIdx.x] = x; continue; }
    y[32 * i + threadIdx.x] = x;
  }
}

// kernel called_in_loop grid 1 block 32
// out y int32 = np.arange(4).repeat(32) + 1
__device__ __forceinline__ int chosen(int i) {
  int r;
  if (i < 9) r = i + 1; else r = 0;
  { int t; t = r; r = t; }
  return r;
}
extern "C" __global__ void called_in_loop(int *y) {
  for (int i = 0; i < 4; ++i) y[32 * i + threadIdx.x] = chosen(i);
}
