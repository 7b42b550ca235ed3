// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
#define SIZE 4
extern "C" __global__ void k(const int *in, int *out, int n) {
    int a[SIZE], b[2] = {n, n};
    for (int i = 0; i < SIZE; ++i) a[i] = in[i];
    if (n > 1000) a[4] = 1;
    if (SIZE > 4) a[4] = 2; else b[0] = 3;
    if (threadIdx.x > 40) { a[5] = 3; }
    const bool more = SIZE > 6;
    for (int i = 0; i < n; ++i) { if (more) a[6] = 2; a[i & 3] += SIZE > 4 ? a[4] : a[0]; }
    switch (SIZE) { case 8: a[7] = 1; break; case 4: a[3] = 1; }
    out[threadIdx.x] = a[n & 3] + b[n & 1];
}
