// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [8, 4, 1], "args": [["int32", 32], ["int32", 32, "out"], 9]}
// expect: clean
struct Bucket { int key[8]; int next; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ Bucket s[4];
    int x = threadIdx.x, y = threadIdx.y;
    if (x == 0) {
        int *p = reinterpret_cast<int *>(&s[y]);
        for (int i = 0; i < n; ++i) p[i] = in[(y * 8 + i) & 31];
        for (int i = 0; i < n - 1; ++i) s[y].key[i] += 1;
    }
    __syncthreads();
    out[y * 8 + x] = s[y].key[x] + s[y].next;
}
