// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["float32", 32], ["int32", 32, "out"], 5]}
// expect: invalid-access error line 7 variable word
extern "C" __global__ void k(const float *in, int *out, int n) {
    int i = threadIdx.x;
    char word[4] = {'a', 'b', 'c', 0}, other[4] = {'d', 'e', 'f', 'g'};
    word[n - 2] = 'd';
    if (i == 0) printf("%s\n", word);
    out[i] = other[i & 3];
}
