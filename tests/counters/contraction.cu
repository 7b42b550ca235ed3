// launch: {"kernel": "contraction", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 512], ["float32", 1536, "out"]]}
// Products and sums that the compiler's front end leaves to ptxas: which of them does it fuse?
#define MUL(d, a, b) asm("mul.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b))
#define ADD(d, a, b) asm("add.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b))
#define SUB(d, a, b) asm("sub.f32 %0, %1, %2;" : "=f"(d) : "f"(a), "f"(b))
extern "C" __global__ void contraction(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = in[i], b = in[128 + i], c = in[256 + i], d = in[384 + i], p, q, r;
  MUL(p, a, b);
  ADD(r, p, c);
  out[i] = r;
  MUL(p, a, c);
  SUB(r, p, d);
  out[128 + i] = r;
  MUL(p, b, c);
  SUB(r, d, p);
  out[256 + i] = r;
  MUL(p, a, d);
  MUL(q, b, c);
  ADD(r, p, q);
  out[384 + i] = r;
  MUL(p, b, d);
  MUL(q, a, b);
  SUB(r, p, q);
  out[512 + i] = r;
  MUL(p, c, d);
  ADD(q, p, a);
  ADD(r, p, b);
  out[640 + i] = q;
  out[768 + i] = r;
  MUL(p, a, a);
  if (b > 0) {
    ADD(r, p, d);
    out[896 + i] = r;
  }
  MUL(p, b, b);
  ADD(q, c, p);
  out[1024 + i] = q;
  MUL(p, c, c);
  ADD(q, p, a);
  out[1152 + i] = q;
  out[1280 + i] = p;
  MUL(p, d, d);
  ADD(q, p, p);
  out[1408 + i] = q;
}
