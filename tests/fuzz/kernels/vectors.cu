// launch: {"kernel": "vectors", "grid": [2, 1, 1], "block": [32, 1, 1], "args": [["float32", 256], ["float32", 256, "out"], ["uint8", 64, "inout"], ["int16", 64, "inout"]]}
struct Pair { short a; int b; double c; };
__constant__ float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__device__ int counter = 7;
__device__ __noinline__ Pair make(short a, int b) { Pair p; p.a = a; p.b = b; p.c = a * 0.5 + b; return p; }
extern "C" __global__ void vectors(const float4 *in, float4 *out, unsigned char *bytes, short *shorts) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float local[16];
  float4 v = in[i];
  for (int k = 0; k < 16; ++k) local[k] = v.x * k + weights[k & 7];
  v.y += local[(i * 7) & 15];
  v.z += local[(int)v.x & 15];
  Pair p = make((short)i, counter);
  v.w += (float)p.c + p.a + p.b;
  out[i] = v;
  bytes[i] = (unsigned char)(bytes[i] * 3 + 1);
  shorts[i] = (short)(shorts[i] ^ bytes[i]);
}
