// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int x = in[threadIdx.x];
    if (int limit, *p = &limit; n == 4) x = 0;
    else if (int other; (other = n) > 2) { *p = 3; x = min(x, limit + other); }
    else x = 1;
    switch (int y, z = 2; n) { case 5: y = z; x += y; break; case 6: z = 3; }
#pragma unroll 2
    for (int last, i = 0; i < n; i++) {
        if (i == 0) last = 0;
        x += in[i] - last;
        last = in[i];
    }
    for (int i, j = 0, k; j < n; j++) { i = k = j; x += i + k; }
    out[threadIdx.x] = x;
}
