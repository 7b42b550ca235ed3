// expect: cheat 3 #include of another file, /etc/passwd
/* a comment before
*/ %: include </etc/passwd>
extern "C" __global__ void k(float* a) { a[0] = 1; }
