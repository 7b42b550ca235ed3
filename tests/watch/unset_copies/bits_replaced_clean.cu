// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "args": [["uint32", 32, "out"]]}
// expect: clean
struct Bits { unsigned a : 5, b : 7, c : 20; };
extern "C" __global__ void k(unsigned *out) {
  __shared__ unsigned s[32];
  int t = threadIdx.x;
  Bits bits;
  bits.a = t;
  *(Bits *)&s[t] = bits;
  __syncthreads();
  atomicOr(&s[t], 1u);
  __syncthreads();
  out[t] = s[31 - t] & 31;
}
