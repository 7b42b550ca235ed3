extern "C" __global__ void k(float* a) {
    float x = a[0];
    asm volatile("add.f32 %0, %0, %0;" : "+f"(x));
    a[0] = x;
}
