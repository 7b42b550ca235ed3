// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 32], ["int32", 32, "out"], 5]}
// expect: clean
enum class Side : unsigned char { LEFT, RIGHT };
enum class Flag : bool { OFF, ON };
enum Wide : long long { LOW, HIGH = 1ll << 40 };
extern "C" __global__ void k(const int *in, int *out, int n) {
    Side side, copy;
    Flag flag, unused;
    enum Wide wide;
    side = in[threadIdx.x] > 3 ? Side::LEFT : Side::RIGHT;
    if (n == 5) copy = side;
    else copy = Side::LEFT;
    flag = copy == side ? Flag::ON : Flag::OFF;
    Flag another = unused;
    wide = n > 2 ? HIGH : LOW;
    out[threadIdx.x] = (int)side * (int)copy + (flag == Flag::ON) + (wide >> 38);
}
