// expect: compile-error 5:7 identifier "threadidx" is undefined
// hint: did you mean `threadIdx`?
extern "C" __global__ void k(float* a)
{
    a[threadidx.x] = 1;
}
