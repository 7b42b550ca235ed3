// refuses mma.sync.aligned.m8n8k4 at line 4: (tensor cores)
extern "C" __global__ void k(double *p) {
  double a = p[0], b = p[1], c = p[2], d = p[3];
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(c), "+d"(d) : "d"(a), "d"(b));
  p[0] = c + d;
}
