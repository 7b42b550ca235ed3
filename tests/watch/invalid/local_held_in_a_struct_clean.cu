// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 4]}
// expect: clean
struct View { int *data; int size; };
__device__ int sum(View v) {
    int s = 0;
    for (int i = 0; i < v.size; ++i) s += v.data[i];
    return s;
}
extern "C" __global__ void k(const int *in, int *out, int n) {
    int a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
    View views[2] = {{&a[0], n}, {&b[0], 4}};
    out[threadIdx.x] = sum(views[in[threadIdx.x] & 0]) + sum(views[1]);
}
