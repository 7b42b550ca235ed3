/* The functions of CUDA's device runtime that print: vprintf and __assertfail.
 *
 * vprintf gets a format and a buffer with the arguments one after the other, each aligned to its
 * size. The format is the kernel's: every conversion is parsed, and built anew from safe parts. */
#include <stdio.h>
#include <string.h>
#include "machine/control.h"
#include "machine/events.h"
#include "machine/memory.h"
#include "machine/params.h"

enum { WIDEST = 999, CHUNK = 2048 };
/* What an argument is, and what a conversion reads: 4 bytes, 8 bytes that may be of any type, or a floating-point number. */
enum { NO_ARGUMENT, WORD, LONG, REAL };

/* One lane's printf: where it reads the format and the next argument, and how many it has read; what is wrong with the
 * first argument that its conversion cannot read: see misprint. */
typedef struct { Warp *w; const Insn *i; u32 lane, count; u64 at, args; bool invalid; u32 wrong; } Print;
typedef struct { char flags[8]; int width, precision, bytes; char kind; } Conversion;

static void put(Print *p, const char *text, size_t n) {
  Launch *l = (Launch *)p->w->launch;
  u32 used = l->printed_bytes, room = used < l->printed_room ? l->printed_room - used : 0;
  p->w->worker->changes++;
  memcpy(l->printed + (room ? used : 0), text, n < room ? n : room);
  l->printed_bytes = n > UINT32_MAX - used ? UINT32_MAX : used + (u32)n;
}

/* A byte of the kernel's memory; 0 at an invalid address, which is announced once. */
static u8 byte_at(Print *p, u64 at) {
  at = without_owner(at);
  Region r = region_of(p->w, GENERIC, at);
  if (r.space != GENERIC && at - r.base < r.size)
    return lane_data(p->w, &r, p->lane)[at - r.base];
  if (!p->invalid) announce_invalid(p->w, p->i, p->lane, at, 1, 0);
  p->invalid = true;
  return 0;
}

static u64 bytes_at(Print *p, u64 at, u32 bytes) {
  u64 x = 0;
  for (u32 k = 0; k < bytes; k++) x |= (u64)byte_at(p, at + k) << 8 * k;
  return x;
}

/* Compare the argument with what the conversion of a letter reads. The first one that differs, in a Report's extra:
 * its number, the letter, what it is and what is read, and whether another number is printed than was passed. */
static void compare(Print *p, u32 wanted, char letter) {
  if (!p->i->flag) return; /* the arguments are not known */
  u32 given = p->count < 31 ? (u32)(p->i->imm >> 2 * p->count) & 3 : wanted;
  if (p->wrong) p->wrong |= 1u << 20; /* what is read now is not where it was passed */
  if (p->wrong || given == wanted || (given == LONG && wanted == REAL)) return;
  bool other = given != LONG || wanted != WORD;
  if (!other) {
    u64 x = bytes_at(p, (p->args + 7) / 8 * 8, 8);
    other = (u64)(s64)(s32)x != x && (u32)x != x;
  }
  p->wrong = (p->count + 1) | (u32)(u8)letter << 8 | given << 16 | wanted << 18 | (u32)other << 20;
}

static u64 argument(Print *p, u32 bytes, bool real, char letter) {
  compare(p, real ? REAL : bytes == 8 ? LONG : WORD, letter);
  if (p->wrong && !(p->wrong >> 16 & 3)) return 0;
  p->args = (p->args + bytes - 1) / bytes * bytes;
  u64 x = bytes_at(p, p->args, bytes);
  p->args += bytes;
  p->count++;
  return x;
}

static int number(Print *p) {
  if (byte_at(p, p->at) == '*') {
    p->at++;
    int x = (int)(u32)argument(p, 4, false, '*');
    return x > WIDEST ? WIDEST : x < -WIDEST ? -WIDEST : x;
  }
  int x = 0;
  for (u8 c; c = byte_at(p, p->at), c >= '0' && c <= '9'; p->at++)
    x = x * 10 + c - '0' > WIDEST ? WIDEST : x * 10 + c - '0';
  return x;
}

static Conversion conversion(Print *p) {
  Conversion c = {.precision = -1, .bytes = 4};
  for (u32 k = 0; k < 7 && byte_at(p, p->at) && strchr("-+ #0", byte_at(p, p->at)); k++)
    c.flags[k] = (char)byte_at(p, p->at++);
  c.width = number(p);
  if (byte_at(p, p->at) == '.') {
    p->at++;
    c.precision = number(p);
  }
  for (u8 x; x = byte_at(p, p->at), x && strchr("hljztL", x); p->at++)
    c.bytes = x == 'h' ? c.bytes / 2 : 8;
  c.kind = (char)byte_at(p, p->at);
  if (c.kind) p->at++;
  return c;
}

static void put_text(Print *p, const Conversion *c, u64 at) {
  char text[CHUNK];
  u32 n = 0, most = c->precision >= 0 ? (u32)c->precision : CHUNK - 1;
  if (!at) at = 0, n = (u32)snprintf(text, sizeof text, "(null)");
  else {
    while (n < most && (text[n] = (char)byte_at(p, at + n))) n++;
    announce_text(p->w, p->i, p->lane, at, n + (n < most));
  }
  bool left = strchr(c->flags, '-') || c->width < 0;
  u32 width = (u32)(c->width < 0 ? -c->width : c->width);
  for (u32 k = n; !left && k < width; k++) put(p, " ", 1);
  put(p, text, n);
  for (u32 k = n; left && k < width; k++) put(p, " ", 1);
}

static void put_number(Print *p, const Conversion *c, u64 bits) {
  char spec[32], out[CHUNK];
  bool real = strchr("fFeEgGaA", c->kind), sign = c->kind == 'd' || c->kind == 'i';
  const char *length = real || c->kind == 'p' ? "" : "ll";
  u32 up = 64 - 8 * (u32)(c->bytes ? c->bytes : 1);
  snprintf(spec, sizeof spec, c->precision < 0 ? "%%%s*%s%c" : "%%%s*.*%s%c", c->flags, length, c->kind);
  if (!real && c->kind != 'p') bits = sign ? (u64)((s64)(bits << up) >> up) : bits << up >> up;
  f64 x;
  memcpy(&x, &bits, 8);
#define PRINT(value) (c->precision < 0 ? snprintf(out, sizeof out, spec, c->width, value) \
                                       : snprintf(out, sizeof out, spec, c->width, c->precision, value))
  int n = real ? PRINT(x) : c->kind == 'p' ? PRINT((void *)(uintptr_t)bits) : PRINT((long long)bits);
#undef PRINT
  put(p, out, n < 0 ? 0 : (size_t)n < sizeof out ? (size_t)n : sizeof out - 1);
}

static void convert(Print *p) {
  u64 start = p->at;
  Conversion c = conversion(p);
  if (c.kind == '%') {
    put(p, "%", 1);
  } else if (c.kind == 's') {
    u64 at = argument(p, 8, false, 's');
    if (!p->wrong) put_text(p, &c, at);
  } else if (c.kind == 'c') {
    char x = (char)argument(p, 4, false, 'c');
    Conversion one = {.width = c.width, .precision = -1};
    bool left = strchr(c.flags, '-') || one.width < 0;
    for (int k = 1; !left && k < one.width; k++) put(p, " ", 1);
    put(p, &x, 1);
    for (int k = 1; left && k < (one.width < 0 ? -one.width : one.width); k++) put(p, " ", 1);
  } else if (c.kind && strchr("fFeEgGaAp", c.kind)) {
    put_number(p, &c, argument(p, 8, c.kind != 'p', c.kind));
  } else if (c.kind && strchr("diuxXo", c.kind)) {
    put_number(p, &c, argument(p, c.bytes == 8 ? 8 : 4, false, c.kind));
  } else {
    put(p, "%", 1);
    p->at = start;
  }
}

static u64 parameter(const Warp *w, u32 lane, u32 at) { return get_param(w, lane, w->frame[w->top].params + at, 8); }

/* a, b: where the caller's frame has the format and the arguments; d: the result, how many. */
void ptx_call_vprintf(Warp *w, const Insn *i) {
  const Launch *n = w->launch;
  for (u32 m = w->mask; m; m &= m - 1) {
    u32 l = (u32)__builtin_ctz(m);
    Print p = {.w = w, .i = i, .lane = l, .at = parameter(w, l, i->a), .args = parameter(w, l, i->b)};
    while (!p.invalid && n->printed_bytes <= n->printed_room) {
      char c = (char)byte_at(&p, p.at);
      if (!c) break;
      p.at++;
      if (c == '%') convert(&p);
      else put(&p, &c, 1);
    }
    if (p.wrong) announce_misprint(w, i, l, p.wrong);
    put_param(w, l, w->frame[w->top].params + i->d, (u32)p.count, 4);
  }
}

/* a: where the caller's frame has the condition's text. The launch ends. */
void ptx_call___assertfail(Warp *w, const Insn *i) {
  u32 l = (u32)__builtin_ctz(w->mask);
  announce_assertion(w, i, parameter(w, l, i->a));
  w->worker->stop = true;
}
