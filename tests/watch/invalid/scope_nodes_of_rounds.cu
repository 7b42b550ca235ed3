// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: invalid-access error line 11 variable x
struct Node { int value; Node *next; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    Node *head = nullptr;
    for (int i = 0; i < n; i++) {
        Node x{in[threadIdx.x + i], head};
        head = &x;
    }
    int sum = 0, c = 0;
    for (Node *p = head; p && c < 10; p = p->next, c++) sum += p->value;
    out[threadIdx.x] = sum;
}
