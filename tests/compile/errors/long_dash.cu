// expect: compile-error 4:14 U+2013 is not a character of CUDA C++
// hint: type it again as an ASCII character: quotes and dashes copied from a document differ
extern "C" __global__ void k(float* a) {
    a[0] = 1 – a[1];
}
