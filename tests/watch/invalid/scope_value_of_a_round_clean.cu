// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i < n; i++) {
        int square[2] = {in[t + i] * in[t + i], i}, *p = square;
        for (int j = 0; j < 3; j++) {
            int next = *p + j;
            int *q = &next;
            if (in[t + j] & 1) continue;
            if (in[t + j] == 17) goto done;
            p[1] += *q;
        }
        switch (p[1] & 3) {
        case 0: {
            int twice = 2 * p[0], *r = &twice;
            sum += *r;
            break;
        }
        case 1: sum += 1;
        default: sum += p[0];
        }
        sum += p[1];
    }
done:
    out[t] = sum;
}
