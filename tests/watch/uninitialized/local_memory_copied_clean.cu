// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 160], ["float32", 128, "zero"], 20]}
// expect: clean
struct Pair {
  float value;
  int key;
};
extern "C" __global__ void k(const float *in, float *out, int n) {
  int at = blockIdx.x * 64 + threadIdx.x;
  Pair best;
  best.value = in[at];
  best.key = at;
  Pair kept = best, *p = &kept;
  out[at] = p->key + p->value;
}
