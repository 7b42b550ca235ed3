// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int64", 32, "out"], 5]}
// expect: clean
struct Entry { short key; int *place; };
extern "C" __global__ void k(const int *in, long long *out, int n) {
    __shared__ Entry entries[32];
    long long v;
    ((int *)&v)[0] = in[threadIdx.x];
    ((int *)&v)[1] = n;
    Entry e;
    e.key = n;
    e.place = nullptr;
    entries[threadIdx.x] = e;
    out[threadIdx.x] = v + entries[threadIdx.x].key;
}
