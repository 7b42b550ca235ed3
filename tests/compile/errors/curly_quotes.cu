// expect: compile-error 3:8 U+201C is no letter of CUDA C++
// hint: type it again as a plain character: quotes and dashes copied from a document differ
extern “C” __global__ void k(float* a)
{
    a[threadIdx.x] = 1;
}
