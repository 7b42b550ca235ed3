// refuses ldmatrix at line 4: (tensor cores)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%0];" : "+r"(v));
  p[0] = v;
}
