// expect: cheat 2 #include of another file, /etc/passwd
#inc\
lude /* hidden */ \
  "/etc/passwd"
extern "C" __global__ void k(float* a) { a[0] = 1; }
