// expect: compile-error 3 #include needs a header's name
#define HEADER "/etc/passwd"
#include HEADER
extern "C" __global__ void k(float* a) { a[0] = 1; }
