// expect: compile-error 2 #line changes the lines in messages
#line 100 "other.cu"
extern "C" __global__ void k(float* a) { a[0] = 1; }
