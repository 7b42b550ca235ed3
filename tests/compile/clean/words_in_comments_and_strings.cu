// int main() { k<<<1, 1>>>(a); }   #include "/etc/passwd"
/*
#include "/etc/passwd"
int main() { cudaMalloc(); }
*/
extern "C" __global__ void k(float* a) {
    printf("int main() { k<<<1, 1>>>(); } // \" \n");
    const char* raw = R"x(
#include "/etc/passwd"
int main() { cudaMalloc(0, 0); }
)x";
    int million = 1'000'000;
    a[0] = raw[0] + million + '"';
}
