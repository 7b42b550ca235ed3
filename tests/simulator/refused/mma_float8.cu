// refuses mma.sync.aligned.m16n8k32.row.col.f32.e4m3 at line 5: (tensor cores)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  float x = 0, y = 0, z = 0, u = 0;
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};" : "+f"(x), "+f"(y), "+f"(z), "+f"(u) : "r"(v));
  p[0] = x + y + z + u;
}
