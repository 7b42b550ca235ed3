// expect: compile-error 6:5 identifier "_syncthreads" is undefined
// hint: did you mean `__syncthreads`?
extern "C" __global__ void k(float* a)
{
    a[threadIdx.x] = 1;
    _syncthreads();
    a[threadIdx.x] = 2;
}
