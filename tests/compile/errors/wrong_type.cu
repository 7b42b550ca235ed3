// expect: compile-error 3:13 cannot be used to initialize an entity of type "float *"
extern "C" __global__ void k(float* a) {
	float* p = a[0];
    p[0] = 1;
}
