// launch: {"kernel": "arithmetic", "grid": [1, 1, 1], "block": [64, 1, 1], "args": [["int64", 64], ["float64", 64], ["float32", 64, "inout"], ["int64", 64, "out"], ["int8", 64]]}
extern "C" __global__ void arithmetic(const long long *a, const double *x, float *f, long long *out, const signed char *c) {
  int i = threadIdx.x;
  long long p = a[i], q = a[63 - i] | 1;
  unsigned u = (unsigned)p, v = (unsigned)q;
  p = p / q + p % q + __mul64hi(p, q);
  p += __popc(u) + __clz(u) + __brev(v) + __ffs(u) + __byte_perm(u, v, 0x3715) + __funnelshift_l(u, v, u & 31);
  p ^= (long long)(short)u * (unsigned short)v + c[i] + __mulhi((int)u, (int)v) + __umul24(u, v) + __sad((int)u, (int)v, v);
  double d = x[i];
  d = sqrt(d * d + 1.0) / (d + 3.5) + fma(d, d, -0.5) + fmin(d, 1.0) + floor(d) + rint(d);
  float g = f[i];
  g = sqrtf(fabsf(g)) + __expf(g) + __logf(fabsf(g) + 1) + __sinf(g) + fdividef(g, 3.0f) + (float)d + truncf(g);
  g = __fadd_rz(g, 1.0f) + __fmul_ru(g, g) + __saturatef(g) + copysignf(g, -1.0f) + powf(fabsf(g), 0.3f);
  f[i] = isnan(g) ? 0.0f : g;
  out[i] = p + (long long)d + (unsigned long long)fabs(d) + (int)g + __float_as_int(g) + (u > v) + (p < q ? 5 : 9);
}
