// Words of outputs that keep bits without a value, because structs with padding or bit fields were written there.
struct Fields { unsigned a : 5, b : 11, c : 16; };
struct alignas(4) Message { unsigned char type; unsigned short length; unsigned char body[5]; };

struct Record { int key; char mark; int count, total; };
struct Sized { char c; int n; };
struct Sample { int n; double value; };
struct Hit { bool found; float distance; int index; };
union Word { int i; float f; };
struct Tagged { Word w; short kind; };

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

// A member of several sizes that was never set: it may mean nothing, and is copied with the others.
// kernel record_without_total grid 1 block 32
// in a int32 = np.arange(32)
// inout y int32 = np.zeros(128) -> _
extern "C" __global__ void record_without_total(const int *a, Record *y) {
  Record p;
  p.key = a[threadIdx.x];
  p.mark = 1;
  p.count = 2;
  y[threadIdx.x] = p;
}

// kernel records grid 1 block 32
// in a int32 = np.arange(32)
// inout y int32 = np.zeros(128) -> _
extern "C" __global__ void records(const int *a, Record *y) {
  __shared__ Record s[32];
  Record p;
  p.key = a[threadIdx.x];
  p.mark = 1;
  p.count = p.total = 2;
  s[threadIdx.x] = p;
  __syncthreads();
  y[threadIdx.x] = s[31 - threadIdx.x];
}

// The member is stored behind the copy.
// kernel sample_in_parts grid 1 block 32
// in a int32 = np.arange(32)
// inout y int32 = np.zeros(128) -> _
extern "C" __global__ void sample_in_parts(const int *a, Sample *y) {
  Sample s;
  s.n = a[threadIdx.x];
  y[threadIdx.x] = s;
  y[threadIdx.x].value = 1.5;
}

// A hit that is none has no distance.
// kernel hits grid 1 block 32
// in a int32 = np.arange(32)
// inout y int32 = np.zeros(96) -> _
extern "C" __global__ void hits(const int *a, Hit *y) {
  Hit h;
  h.found = a[threadIdx.x] % 2;
  if (h.found) {
    h.distance = 2;
    h.index = threadIdx.x;
  }
  y[threadIdx.x] = h;
}

// kernel tagged grid 1 block 32
// in a int32 = np.arange(32)
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void tagged(const int *a, Tagged *y) {
  Tagged t;
  t.kind = a[threadIdx.x] % 2;
  if (t.kind) t.w.f = 1;
  y[threadIdx.x] = t;
}

// Only a cast makes objects of the bytes.
// kernel only_cast grid 1 block 32
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void only_cast(int *y) {
  __shared__ alignas(8) unsigned char s[256];
  int t = threadIdx.x;
  ((Sized *)s)[t].c = t;
  ((Sized *)s)[t].n = t;
  __syncthreads();
  for (int i = t; i < 64; i += 32) y[i] = ((const int *)s)[i];
}

// kernel sized grid 1 block 32
// inout y int32 = np.zeros(64) -> _
extern "C" __global__ void sized(Sized *y) { y[threadIdx.x] = Sized{1, 2}; }

// Bits without a name lie before those that were never set.
struct Spaced { unsigned a : 8; unsigned : 8; unsigned b : 16; };

// kernel spaced_bits grid 1 block 32
// out y int32 = np.zeros(32)
// finds uninitialized-read error local variable `s.b` is used
extern "C" __global__ void spaced_bits(int *y) {
  Spaced s;
  s.a = threadIdx.x;
  y[threadIdx.x] = s.b;  // <- uninitialized-read
}

// kernel spaced_bits_set grid 1 block 32
// inout w uint32 = np.zeros(32) -> _
// out y int32 = np.arange(32) * 3
extern "C" __global__ void spaced_bits_set(Spaced *w, int *y) {
  Spaced s;
  s.b = 2 * threadIdx.x;
  s.a = threadIdx.x;
  w[threadIdx.x] = s;
  y[threadIdx.x] = s.a + s.b;
}
