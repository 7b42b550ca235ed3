// expect: compile-error 2 #line would make messages point elsewhere
#line 100 "other.cu"
extern "C" __global__ void k(float* a) { a[0] = 1; }
