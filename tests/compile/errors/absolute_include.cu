// expect: cheat 2 #include of another file, /etc/passwd
#include "/etc/passwd"
extern "C" __global__ void k(float* a) { a[0] = 1; }
