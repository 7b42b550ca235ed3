// expect: compile-error 4 excessive recursion
template <int N>
struct Endless {
    static const int value = Endless<N + 1>::value;
};
extern "C" __global__ void k(int* a) { a[0] = Endless<0>::value; }
