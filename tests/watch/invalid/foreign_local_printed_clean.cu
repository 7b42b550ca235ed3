// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["int32", 256], ["int32", 256, "out"]]}
// expect: clean
extern "C" __global__ void k(const int *in, int *out) {
  int t = threadIdx.x, a[2] = {in[t], t}; __shared__ int *p[64];
  char text[8] = "abc"; text[in[t] & 1] = 'x';
  p[t] = a;
  __syncthreads();
  if (t == 1) printf("%p %s %d\n", p[0], text, p[0] == p[1]);
  out[t] = a[in[t] & 1];
}
