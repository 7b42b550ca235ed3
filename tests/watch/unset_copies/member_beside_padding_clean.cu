// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int32", 64], ["float32", 64, "out"], 5]}
// expect: clean
struct __align__(16) Sample { float height, weight; short count; };
extern "C" __global__ void k(const int *in, float *out, int n) {
    __shared__ Sample s[64], kept[64];
    int i = threadIdx.x;
    s[i].height = in[i]; s[i].count = 2; s[i].weight = n;
    __syncthreads();
    reinterpret_cast<int4 *>(kept)[i] = reinterpret_cast<const int4 *>(s)[63 - i];
    out[i] = kept[i].height + kept[i].weight + kept[i].count;
}
