// refuses cp.reduce.async.bulk at line 4: (the tensor memory accelerator)
extern "C" __global__ void k(float *p) {
  __shared__ alignas(16) float s[32];
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 128;" : : "l"(p), "r"((unsigned)__cvta_generic_to_shared(s)) : "memory");
}
