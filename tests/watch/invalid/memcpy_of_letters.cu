// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 64, "out"], 5]}
// expect: invalid-access error line 6
extern "C" __global__ void k(const int *in, int *out, int n) {
    char word[24] = "xxxxxxxxxxxxxxxxxxxx";
    int i = threadIdx.x;
    memcpy(word + 2, word, 20);
    out[i] = word[n];
}
