// Words of outputs that keep bits without a value, because structs with padding or bit fields were written there.
struct Fields { unsigned a : 5, b : 11, c : 16; };
struct alignas(4) Message { unsigned char type; unsigned short length; unsigned char body[5]; };

// Fields are written one by one into words that had no value.
// kernel fields_of_words grid 1 block 32
// out y uint32 = np.arange(32) | 3 << 5 | 7 << 16
extern "C" __global__ void fields_of_words(unsigned *y) {
  Fields *f = reinterpret_cast<Fields *>(y) + threadIdx.x;
  f->a = threadIdx.x;
  f->b = 3;
  f->c = 7;
}

// The host reads the fields: they are no numbers of 32 bits.
// kernel fields_of_structs grid 1 block 32
// inout y uint32 = np.zeros(32) -> np.arange(32) | 3 << 5
extern "C" __global__ void fields_of_structs(Fields *y) {
  __shared__ Fields s[32];
  s[threadIdx.x].a = threadIdx.x;
  s[threadIdx.x].b = 3;
  y[threadIdx.x].a = s[threadIdx.x].a;
  y[threadIdx.x].b = s[threadIdx.x].b;
}

// The message has four bytes of padding.
// kernel messages_to_words grid 1 block 32
// inout y int32 = np.zeros(96) -> _
extern "C" __global__ void messages_to_words(int *y) {
  __shared__ Message in[32];
  int t = threadIdx.x;
  in[t].type = t;
  in[t].length = 5;
  for (int i = 0; i < 5; ++i) in[t].body[i] = i;
  __syncthreads();
  for (int i = t; i < (int)sizeof(in) / 4; i += 32) y[i] = ((const int *)in)[i];
}

// kernel message_to_words grid 1 block 32
// inout y int32 = np.zeros(96) -> _
extern "C" __global__ void message_to_words(int *y) {
  Message in;
  in.type = threadIdx.x;
  in.length = 5;
  for (int i = 0; i < 5; ++i) in.body[i] = i;
  memcpy(y + 3 * threadIdx.x, &in, sizeof in);
}

// kernel message_to_bytes grid 1 block 32
// inout y uint8 = np.zeros(384) -> _
extern "C" __global__ void message_to_bytes(unsigned char *y) {
  Message in;
  in.type = threadIdx.x;
  in.length = 5;
  for (int i = 0; i < 5; ++i) in.body[i] = i;
  *(Message *)(y + sizeof in * threadIdx.x) = in;
}

// Wrong: the length was never set, and is used.
// kernel message_of_words grid 1 block 32
// out y int32 = np.zeros(32)
extern "C" __global__ void message_of_words(int *y) {
  __shared__ Message in[32];
  int t = threadIdx.x;
  in[t].type = t;
  for (int i = 0; i < 5; ++i) in[t].body[i] = i;
  __syncthreads();
  unsigned w = ((const unsigned *)in)[3 * t];  // <- uninitialized-read
  y[t] = (w >> 16) + 1;  // <- uninitialized-read
}

// Wrong: the last component; the output has vectors.
// kernel vectors_beside grid 1 block 32
// out y float32 = np.zeros(128)
extern "C" __global__ void vectors_beside(float4 *y) {
  Message in;
  in.length = threadIdx.x;
  float4 v;
  v.x = v.y = v.z = in.length;
  y[threadIdx.x] = v;  // <- uninitialized-read
}
