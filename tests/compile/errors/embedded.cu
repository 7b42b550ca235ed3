// expect: cheat 3 #embed
__constant__ char secret[] = {
#embed "/etc/passwd"
};
extern "C" __global__ void k(float* a) { a[0] = secret[0]; }
