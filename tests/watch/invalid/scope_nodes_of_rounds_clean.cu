// launch: {"kernel": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "args": [["int32", 64], ["int32", 32, "out"], 4]}
// expect: clean
struct Node { int value; Node *next; };
extern "C" __global__ void k(const int *in, int *out, int n) {
    Node *head = nullptr, nodes[4];
    for (int i = 0; i < n; i++) {
        Node x{in[threadIdx.x + i], head};
        nodes[i] = x;
        head = &nodes[i];
    }
    int sum = 0;
    for (Node *p = head; p; p = p->next) sum += p->value;
    out[threadIdx.x] = sum;
}
