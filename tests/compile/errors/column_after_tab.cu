// expect: compile-error 3:10 identifier "x" is undefined
extern "C" __global__ void k(float* a) {
		a[0] = x;
}
