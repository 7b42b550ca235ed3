// expect: compile-error 3:8 U+201C is not a character of CUDA C++
// hint: type it again as an ASCII character: quotes and dashes copied from a document differ
extern “C” __global__ void k(float* a)
{
    a[threadIdx.x] = 1;
}
