// refuses cp.async.bulk at line 4: (the tensor memory accelerator)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("{ .reg .u64 g; mov.u64 g, 0; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [g], 16, [%0]; }" : "+r"(v));
  p[0] = v;
}
