/* Which writes precede an access because a strong read that is before it observed them, and those whose
 * place another write has: causality order begins with observation at most, so what precedes an observed
 * write need not precede the access. */
#include "watch/visit.h"

enum { MOST_EARLIER = 4 };

/* The strong writes that a strong read, or a read-modify-write, observed: itself, or through the
 * read-modify-writes between. */
static Shown shown_by(const Node *z) {
  bool sees = z->access == PEEKS || (z->access == UPDATES && z->version);
  return sees ? (Shown){z->chain, z->version - (z->access == UPDATES)} : (Shown){1, 0};
}
static bool saw(const Node *z, const Node *n) {
  Shown s = shown_by(z);
  return writes_strongly(n) && n->version >= s.first && n->version <= s.last;
}

static void note_shown(Visit *v, const Node *z) {
  Ledger *g = ledger_of(v->w->worker);
  Shown s = shown_by(z);
  if (s.first > s.last || !any_before(v, z)) return;
  if (g->shows && g->shown[g->shows - 1].first == s.first && g->shown[g->shows - 1].last == s.last) return;
  Shown *more = grown(g->shown, &g->show_room, g->shows + 1, sizeof(Shown));
  if (!more) { out_of_memory(v->w->worker); return; }
  g->shown = more;
  more[g->shows++] = s;
}

/* What the granule's accesses observed that precede this one: the same for all with which it is compared. */
static void note_all_shown(Visit *v) {
  Ledger *g = ledger_of(v->w->worker);
  g->shows = 0;
  for (u32 at = v->head->readers; at; at = g->node[at - 1].next) note_shown(v, &g->node[at - 1]);
  for (u32 at = v->head->writers; at; at = g->node[at - 1].next) {
    note_shown(v, &g->node[at - 1]);
    for (u32 e = g->node[at - 1].earlier; e; e = g->node[e - 1].next) note_shown(v, &g->node[e - 1]);
  }
  v->knows_shown = true;
}

/* Whether what observed the write precedes this access. */
static bool observed(Visit *v, const Node *n) {
  const Ledger *g = ledger_of(v->w->worker);
  if (!writes_strongly(n)) return false; /* most accesses are plain, and the lists may be long */
  if (!v->knows_shown) note_all_shown(v);
  for (u32 s = 0; s < g->shows; s++)
    if (n->version >= g->shown[s].first && n->version <= g->shown[s].last) return true;
  return false;
}

/* Whether an access in a list precedes this one and read or wrote the value or a newer one; `one`: a read
 * that waited for one value, or for its size. */
static bool any_of_value(const Visit *v, u32 list, u32 version, bool one) {
  const Ledger *g = ledger_of(v->w->worker);
  for (u32 at = list; at; at = g->node[at - 1].next) {
    const Node *z = &g->node[at - 1];
    if (z->version >= version && (!one || awaits_one(z->flag)) && any_before(v, z)) return true;
  }
  return false;
}

/* Whether this read cannot miss the write, or this store cannot come before the read: an access that
 * precedes it read or wrote that value, what the reading thread wrote next, or a newer one. The values of
 * a place are in one order for all threads. */
bool is_overtaken(const Visit *v, const Node *n) {
  u32 version = is_read(n->access) ? n->followed : n->version;
  if (!version || is_read(n->access) == is_read(v->access)) return false;
  return any_of_value(v, v->head->readers, version, false) || any_of_value(v, v->head->writers, version, false);
}

/* Whether what precedes this access has waited until the place had the value of a write, or a newer one. */
bool is_awaited(const Visit *v, const Node *n) { return any_of_value(v, v->head->readers, n->version, true); }

/* The first lane of a node that does not precede this access; LANES when all do. `by_observation`: one of
 * them only because its write was observed. */
u32 unordered(Visit *v, const Node *n, bool *by_observation) {
  *by_observation = false;
  if (n->block == v->w->cta->number && n->phase < phase_of(v->w->cta)) return LANES;
  for (u32 m = n->lanes; m; m &= m - 1)
    if (!before(v, n, first_lane(m))) return (*by_observation = observed(v, n)) ? LANES : first_lane(m);
  return LANES;
}

/* The write, of those that a node hides, that conflicts with this access and does not precede it. */
const Node *hidden_conflict(Visit *v, const Node *n) {
  const Ledger *g = ledger_of(v->w->worker);
  bool seen;
  for (u32 at = n->earlier; at; at = g->node[at - 1].next) {
    const Node *e = &g->node[at - 1];
    if (may_conflict(v, e) && unordered(v, e, &seen) != LANES && conflict(v, e)) return e;
  }
  return NULL;
}

/* Whether an older access of the same lanes observed the write too. */
static bool seen_before(const Ledger *g, const Node *n, const Node *write) {
  for (u32 at = n->next; at; at = g->node[at - 1].next) {
    const Node *z = &g->node[at - 1];
    if (z->block == n->block && z->warp == n->warp && !(n->lanes & ~z->lanes) && saw(z, write)) return true;
  }
  return false;
}

/* Whether a write precedes what an access precedes because it was observed, and for no other reason: no
 * full barrier is between the two, and no older access of the same lanes observed it. */
static bool shows(const Ledger *g, const Node *n, const Node *write) {
  if (!saw(n, write) || (write->block == n->block && write->phase < n->phase)) return false;
  return !seen_before(g, n, write);
}

/* Whether no other access shows that a strong one of a list, `n`, observed a write that is kept. What
 * follows a later access of the thread follows this one, but not the other way round. A later
 * read-modify-write in its place conflicts with what does not follow it, unless scopes differ. */
bool is_evidence(const Visit *v, const Node *n) {
  const Ledger *g = ledger_of(v->w->worker);
  bool matters = n->access == PEEKS ? n->version : n->access == UPDATES && v->w->launch->sync & HAS_BLOCK_SCOPE;
  for (u32 at = matters ? v->head->writers : 0; at; at = g->node[at - 1].next) {
    const Node *write = &g->node[at - 1];
    if (shows(g, n, write)) return true;
    for (u32 e = write->earlier; e; e = g->node[e - 1].next)
      if (shows(g, n, &g->node[e - 1])) return true;
  }
  return false;
}

/* A strong write takes the place of another that precedes it. Where the write itself precedes a later
 * access, so does what it hides; where it was only observed, that need not be so, since causality order
 * begins with observation at most. What the other hid and does not precede this one is shown again. */
void hide(Visit *v, u32 *link, u32 *shown) {
  Ledger *g = ledger_of(v->w->worker);
  u32 at = take_node(g, link);
  Node *n = &g->node[at - 1];
  const Node now = {.block = v->w->cta->number, .phase = phase_of(v->w->cta), .warp = v->w->index,
                    .lanes = 1u << v->lane, .epoch = order_of(v->w->cta)->epoch[v->thread]};
  bool seen;
  v->took |= took_from(&now, n);
  while (n->earlier) {
    u32 e = take_node(g, &n->earlier);
    put_node(g, unordered(v, &g->node[e - 1], &seen) == LANES ? &v->earlier : shown, e);
  }
  put_node(g, &v->earlier, at);
}

/* Notes that a plain access follows a write which precedes it, or was only observed, but not all whose place
 * the write has, except by observation: in another order an atomic need not have observed them. */
void note_observed(Visit *v, const Node *n, bool observed) {
  bool here = n->block == v->w->cta->number, in_warp = here && n->warp == v->w->index;
  if (strong(v->access) || !(n->took || observed)) return;
  u32 took = n->took;
  if (here && n->phase < phase_of(v->w->cta)) took &= TOOK_BLOCK;
  if (!in_warp || n->epoch != order_of(v->w->cta)->epoch[v->thread]) took &= ~(u32)TOOK_LANE;
  if (observed) took |= in_warp ? TOOK_LANE : TOOK_WARP;
  if (took & TOOK_LANE) v->w->worker->observed |= ANOTHER_LANE;
  if (took & (TOOK_WARP | TOOK_BLOCK)) v->w->worker->observed |= ANOTHER_WARP;
}

/* The write that was just kept hides others, unless whoever observes it observed them too. */
void keep_hidden(Visit *v, Node *n) {
  Ledger *g = ledger_of(v->w->worker);
  u32 kept = 0;
  for (u32 *link = &v->earlier; *link;) {
    if (g->node[*link - 1].version >= n->chain) free_node(g, link);
    else { link = &g->node[*link - 1].next; kept++; }
  }
  for (; kept > MOST_EARLIER; kept--) {
    u32 *oldest = &v->earlier;
    for (u32 *link = oldest; *link; link = &g->node[*link - 1].next)
      if (g->node[*link - 1].version < g->node[*oldest - 1].version) oldest = link;
    free_node(g, oldest);
  }
  n->earlier = v->earlier;
  v->earlier = 0;
}

void append(Ledger *g, u32 *list, u32 more) {
  if (!more) return;
  while (*list) list = &g->node[*list - 1].next;
  *list = more;
}
