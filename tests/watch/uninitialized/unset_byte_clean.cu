// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out, int n) {
    unsigned char weight;
    bool flag, other;
    char sign;
    weight = n;
    sign = -1;
    int sum = in[threadIdx.x] - weight * sign;
    if (n == 5) flag = sum > 3;
    other = n != 5;
    if (!other) sum += flag;
    out[threadIdx.x] = sum;
}
