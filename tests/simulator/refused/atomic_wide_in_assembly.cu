// refuses atom.relaxed.gpu.global.exch.b128 at line 5: (128-bit values)
extern "C" __global__ void k(float *p) {
  unsigned long long a, b, c = 1;
  asm volatile("{ .reg .b128 t, u; mov.b128 u, {%3, %3}; atom.relaxed.gpu.global.exch.b128 t, [%2], u; mov.b128 {%0, %1}, t; }"
               : "=l"(a), "=l"(b) : "l"(p), "l"(c) : "memory");
  p[4] = a + b;
}
