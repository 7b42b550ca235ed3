// refuses mma.sync.aligned.m16n8k8.row.col.rz.f64 at line 4: (tensor cores)
extern "C" __global__ void k(double *p) {
  double a = p[0], b = p[1], c = p[2], d = p[3];
  asm volatile("mma.sync.aligned.m16n8k8.row.col.rz.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};" : "+d"(a), "+d"(b), "+d"(c), "+d"(d) : "d"(p[5]));
  p[0] = a + b + c + d;
}
