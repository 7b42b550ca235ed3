// refuses mma.sp at line 4: (tensor cores)
extern "C" __global__ void k(int *p) {
  int v = p[0], w = p[1];
  asm volatile("mma.sp.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%0, %1}, {%0, %1}, {%0, %1}, %0, 0x0;" : "+r"(v), "+r"(w));
  p[0] = v + w;
}
