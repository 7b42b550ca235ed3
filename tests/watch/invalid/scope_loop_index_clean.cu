// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
__device__ __noinline__ void skip(int *i, int by) { *i += by; }
extern "C" __global__ void k(const int *in, int *out, int n) {
    int sum = 0, i = 0, *last = &i;
    for (int j = 0; j < n; j++) {
        skip(&j, in[j] & 1);
        if (in[j] == 1000) continue;
        sum += j;
    }
    for (; i < n; i++) sum += in[i];
    int left = n;
    switch (n & 3) {
    case 0:
        do {
            int x = in[left], *p = &x;
            sum += *p;
    case 3: sum += 3;
    case 2: sum += 2;
        } while (--left > 0);
    }
    out[threadIdx.x] = *last + sum;
}
