// expect: compile-error 4 Not a name of any known instruction: 'nonsense'
extern "C" __global__ void k(float* a) {
    float x = a[0];
    asm volatile("nonsense.f32 %0, %0;" : "+f"(x));
    a[0] = x;
}
