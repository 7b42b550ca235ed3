// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
#define LOCAL(type, name) type name;
#define REAL float
#define COUNTER(name) int name
#define BOTH(a, b) int a##_, b = 2
#define TILE __shared__ int
#define EACH(i) for (int i = 0, i##_end = 3; i < i##_end; i++)
extern "C" __global__ void k(const int *in, int *out, int n) {
    LOCAL(REAL, scale) LOCAL(const int *, from)
    COUNTER(count);
    BOTH(first, second);
    TILE tile;
    if (threadIdx.x == 0) tile = n;
    __syncthreads();
    scale = tile;
    from = in;
    for (COUNTER(i) = 0; i < n; i++) scale += from[i];
    count = first_ = scale;
    EACH(j) count += j;
    out[threadIdx.x] = count + first_ + second;
}
