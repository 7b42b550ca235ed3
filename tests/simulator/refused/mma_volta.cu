// refuses mma.sync.aligned.m8n8k4 at line 4: (tensor cores)
extern "C" __global__ void k(int *p) {
  int a = p[0], b = p[1], c = p[2], d = p[3], e = p[4], f = p[5];
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%0, %1, %2, %3}, {%4, %5}, {%4, %5}, {%0, %1, %2, %3};" : "+r"(a), "+r"(b), "+r"(c), "+r"(d) : "r"(e), "r"(f));
  p[0] = a + b + c + d;
}
