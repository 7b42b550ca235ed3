/* The frequent accesses of a launch that is `exact`: those to granules of which at most one access is kept
 * that matters, and where nothing is carried. They cannot race, and what is left of them is known at once;
 * races_ordered.c checks all others, and says why. */
#include "watch/order.h"

/* An instruction's accesses, and the node of one of them without its lane. */
typedef struct {
  Warp *w;
  Ledger *ledger;
  Order *order;
  u32 access, block, phase, bytes, scoped;
  Node node;
} Step;

INLINE Step step_of(Warp *w, const Insn *i, u32 bytes, u32 access) {
  Step s = {.w = w, .ledger = ledger_of(w->worker), .order = order_of(w->cta), .access = access,
            .block = w->cta->number, .phase = phase_of(w->cta), .bytes = bytes,
            .scoped = (w->launch->sync & HAS_BLOCK_SCOPE) | (i->flag & SCOPE_CTA)};
  s.node = (Node){.block = s.block, .phase = s.phase, .warp = w->index, .pc = i->pc, .access = access,
                  .serial = (u32)w->steps, .size = (u16)bytes, .flag = i->flag};
  return s;
}

/* Whether the lane's access comes after the one access of a node. */
INLINE bool follows(const Step *s, const Node *n, u32 lane) {
  return ordered_before(s->w, thread_of(s->w, lane), n->block, n->phase, n->warp * LANES + first_lane(n->lanes),
                        n->epoch);
}
INLINE bool is_of_one_lane(const Node *n) { return !(n->lanes & (n->lanes - 1)); }
/* Whether what the node observed alone does not matter to a plain access, or there is nothing. */
INLINE bool is_settled(const Step *s, const Node *n) {
  return !n->took || (n->block == s->block && n->phase < s->phase && !(n->took & TOOK_BLOCK));
}

/* A read joins that of the warp's other lanes, or is the first one. */
INLINE bool simple_read(const Step *s, const Head *h, u32 lane) {
  if (h->writers) {
    const Node *n = &s->ledger->node[h->writers - 1];
    if (n->next || !is_of_one_lane(n) || !follows(s, n, lane) || !is_settled(s, n)) return false;
  }
  if (!h->readers) return true;
  const Node *n = &s->ledger->node[h->readers - 1];
  return n->block == s->block && n->warp == s->w->index && n->phase == s->phase && n->access == READS &&
         n->pc == s->node.pc && n->epoch == s->order->epoch[thread_of(s->w, lane)];
}

/* A plain write takes the place of one that it follows. */
INLINE bool simple_write(const Step *s, const Head *h, u32 lane) {
  if (h->carried | h->crowd | h->readers) return false;
  if (!h->writers) return true;
  const Node *n = &s->ledger->node[h->writers - 1];
  return !n->next && !n->earlier && is_of_one_lane(n) && follows(s, n, lane) && is_settled(s, n);
}

/* An atomic takes the place of the one that it observes. */
INLINE bool simple_update(const Step *s, const Head *h, u32 offset) {
  if (h->carried | h->crowd | h->readers) return false;
  if (!h->writers) return true;
  const Node *n = &s->ledger->node[h->writers - 1];
  return !n->next && !n->earlier && n->access == UPDATES && n->version == h->version && n->at == offset && n->size == s->bytes &&
         (n->block == s->block ? !((n->flag ^ s->node.flag) & SCOPE_CTA) : !(s->scoped | (n->flag & SCOPE_CTA)));
}

INLINE bool simple(const Step *s, const Head *h, u32 lane, u32 offset) {
  return s->access == READS ? simple_read(s, h, lane)
         : s->access == WRITES ? simple_write(s, h, lane) : simple_update(s, h, offset);
}

INLINE void keep(Step *s, Head *h, u32 lane, u32 offset) {
  u32 *list = s->access == READS ? &h->readers : &h->writers, at = *list;
  if (at && s->access == READS) {
    s->ledger->node[at - 1].lanes |= 1u << lane;
    s->ledger->node[at - 1].serial = s->node.serial;
    return;
  }
  if (s->access == WRITES) h->chain = ++h->version + 1;
  /* Read-modify-writes are a chain until one is ordered after the one before. */
  if (s->access == UPDATES && (++h->version, !at || follows(s, &s->ledger->node[at - 1], lane))) h->chain = h->version;
  bool first = !at;
  if (first && !(*list = at = new_node(s->w->worker))) return;
  Node *n = &s->ledger->node[at - 1], now = s->node;
  now.lanes = 1u << lane;
  now.epoch = s->order->epoch[thread_of(s->w, lane)];
  now.version = s->access == READS ? 0 : h->version;
  now.chain = h->chain;
  now.at = offset;
  now.took = first || s->access != UPDATES ? 0 : took_from(&now, n);
  *n = now;
}

/* Whether a granule of shared memory has a value, and in this phase at most one access. */
INLINE bool simple_shared(Step *s, u32 g, u32 lane, u32 offset, bool reads) {
  u32 stamp = shadow_of(s->w->cta)->wrote[g];
  if (stamp == GAP || (stamp == 0 && reads)) return false;
  return simple(s, head_in_phase(s->ledger, s->order, g, s->phase), lane, offset);
}

INLINE u32 take_shared(Warp *w, const Insn *i, const u32 *offset, u32 bytes, u32 lanes, u32 access, bool reads) {
  Step s = step_of(w, i, bytes, access);
  u32 shift = w->launch->shared_shift, *wrote = shadow_of(w->cta)->wrote;
  for (; lanes && !w->worker->no_memory; lanes &= lanes - 1) {
    u32 l = first_lane(lanes), at = offset[l], first = at >> shift, last = (at + bytes - 1) >> shift;
    for (u32 g = first; g <= last; g++)
      if (!simple_shared(&s, g, l, at, reads)) return lanes;
    for (u32 g = first; g <= last; g++) {
      keep(&s, &s.order->head[g], l, at);
      if (access != READS) wrote[g] = s.phase | thread_of(w, l);
    }
  }
  return lanes;
}

INLINE u32 take_global(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes, u32 lanes, u32 access,
                       bool reads) {
  Step s = step_of(w, i, bytes, access);
  u32 shift = w->launch->global_shift, *hot = b->hot;
  for (; lanes && !w->worker->no_memory; lanes &= lanes - 1) {
    u32 l = first_lane(lanes), at = offset[l], first = at >> shift, last = (at + bytes - 1) >> shift;
    for (u32 g = first; g <= last; g++) {
      if (access == READS && hot[g] == HOT_SHARED_INPUT) continue;
      if ((hot[g] == HOT_UNINIT && reads) || !simple(&s, (Head *)&b->cell[g], l, at)) return lanes;
    }
    for (u32 g = first; g <= last; g++) {
      if (access == READS && hot[g] == HOT_SHARED_INPUT) continue;
      keep(&s, (Head *)&b->cell[g], l, at);
      if (access != READS) hot[g] = HOT_TOUCHED;
    }
  }
  return lanes;
}

u32 take_reads(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes, u32 lanes) {
  bool reads = !is_followed(i);
  return b ? take_global(w, i, b, offset, bytes, lanes, READS, reads)
           : take_shared(w, i, offset, bytes, lanes, READS, reads);
}

u32 take_writes(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes, u32 lanes) {
  return b ? take_global(w, i, b, offset, bytes, lanes, WRITES, false)
           : take_shared(w, i, offset, bytes, lanes, WRITES, false);
}

u32 take_updates(Warp *w, const Insn *i, Buffer *b, const u32 *offset, u32 bytes, u32 lanes) {
  const Order *o = order_of(w->cta);
  if (o->far || o->visited || i->flag & RELEASE) return lanes;
  bool reads = false;
  for (u32 m = lanes; m && !reads; m &= m - 1) reads = needs_old_value(w, i, first_lane(m));
  return b ? take_global(w, i, b, offset, bytes, lanes, UPDATES, reads)
           : take_shared(w, i, offset, bytes, lanes, UPDATES, reads);
}
