// refuses st.async at line 4: (thread block clusters)
extern "C" __global__ void k(int *p) {
  int v = p[0];
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %0, [%0];" : "+r"(v));
  p[0] = v;
}
