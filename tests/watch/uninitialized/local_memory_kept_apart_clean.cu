// launch: {"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "shared": 0, "args": [["float32", 160], ["float32", 128, "zero"], 20]}
// expect: clean
#include <cuda_fp16.h>
#include <stdio.h>
struct Fields { unsigned a : 3, b : 13, c : 16; };
struct Padded { char c; short s; double d; bool f; float v[3]; };
union Word { float f; unsigned u; unsigned char b[4]; };
struct Point {
  float x, y;
  __device__ Point(float a) : x(a), y(a) {}
  __device__ Point operator+(const Point &o) const { Point r(0); r.x = x + o.x; return r; }
};
__device__ void fill(float *p, int n) { for (int i = 0; i < n; ++i) p[i] = i; }
__device__ Padded made(int i) { Padded p; p.c = i; p.v[0] = 1; return p; }
__device__ int used(int *a, int *b) { return *a > 5 ? *a + *b : *a; }
__device__ __noinline__ int nested(int n) {
  int here[2];
  here[n & 1] = n;
  return n ? nested(n - 1) + here[n & 1] : 0;
}
extern "C" __global__ void k(const float *in, float *out, int n) {
  int at = blockIdx.x * 64 + threadIdx.x;
  Fields fields, *p = &fields;
  fields.a = 1, p->b = 2, p->c = at;
  Padded one = made(at), other, all[2];
  other = one;
  all[n & 1] = other;
  Word word;
  word.f = in[at];
  word.b[0] = 1;
  Point twice = Point(in[at]) + Point(1);
  float4 q, copy;
  q.x = 1, q.z = 3;
  copy = q;
  float few[16], sum = 0;
  fill(few, 8);
  for (int i = 0; i < 8; ++i) sum += few[i];
  int small = 3, unset;
  sum += used(&small, &unset);
  half2 h;
  h.x = __float2half(1.0f);
  h.y = h.x;
  half parts[4];
  for (int i = 0; i < 4; ++i) parts[i] = h.y;
  for (int i = 0; i < 4; ++i) parts[i] += h.x;
  char text[8];
  for (int i = 0; i < 3; ++i) text[i] = 'a';
  long long wide[2];
  wide[0] = 5;
  sum += *(int *)wide;
  float best[4];
  int from[4], count = 0;
  for (int i = 0; i < 6; ++i) {
    if (count < 4) {
      best[count] = in[at];
      from[count++] = i;
    } else if (in[at + i] > best[count - 1]) {
      best[3] = in[at + i];
      from[3] = i;
    }
  }
  if (at == 0) printf("%c %d %f %s\n", 'x', 3, 2.0, "t");
  out[at] = fields.a + fields.b + fields.c + all[n & 1].v[0] + all[n & 1].c + word.u + twice.x + copy.z + sum +
            __low2float(__hadd2(h, h)) + __half2float(parts[2]) + text[1] + best[2] + from[1] + nested(3);
}
