// expect: compile-error 3 the file has an unresolved conflict of git
// hint: keep one of the two versions, and delete git's lines
<<<<<<< HEAD
extern "C" __global__ void k(float* a) { a[0] = 1; }
=======
extern "C" __global__ void k(float* a) { a[0] = 2; }
>>>>>>> mine
