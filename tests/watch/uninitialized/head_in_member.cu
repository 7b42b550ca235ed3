// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["float32", 32], ["float32", 32, "out"]]}
// expect: uninitialized-read error line 8 variable s
// The cursor loads the element behind the last one, and the sum takes it.
struct Cursor {
  const float *at;
  float head;
  __device__ Cursor(const float *at) : at(at), head(*at) {}
  __device__ void next() { head = *++at; }
};
extern "C" __global__ void k(const float *in, float *out) {
  __shared__ float s[34];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  Cursor c(s + t);
  float sum = 0;
  for (int i = t; i <= 32; ++i) {
    sum += c.head;
    c.next();
  }
  out[t] = sum;
}
