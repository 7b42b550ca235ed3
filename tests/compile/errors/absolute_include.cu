// expect: cheat 2 #include reaches for another file, /etc/passwd
#include "/etc/passwd"
extern "C" __global__ void k(float* a) { a[0] = 1; }
