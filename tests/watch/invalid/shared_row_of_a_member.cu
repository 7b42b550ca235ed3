// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [8, 4, 1], "args": [["int32", 32], ["int32", 32, "out"], 9]}
// expect: invalid-access info line 8 variable s[...].key
struct Bucket { int key[8]; int next; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    __shared__ Bucket s[4];
    int x = threadIdx.x, y = threadIdx.y;
    if (x == 0)
        for (int i = 0; i < n; ++i) s[y].key[i] = in[(y * 8 + i) & 31];
    __syncthreads();
    out[y * 8 + x] = s[y].key[x] + s[y].next;
}
