/* Memory that is freed while other threads may still use it: accesses that nothing orders before the
 * free. In another order they come after it. */
#include "watch/order.h"

static void report_use(Warp *w, const Insn *i, const Node *n, u32 lane, const Buffer *b) {
  u32 flags = FREED | HEAP | (n->access == READS || n->access == PEEKS ? 0 : STORE);
  flags |= n->access == UPDATES ? ATOMIC : 0;
  report(w->worker, (Report){.kind = INVALID, .flags = flags, .pc = n->pc, .pc2 = i->pc, .space = GLOBAL, .size = n->size,
                             .buffer = w->launch->allocations, .extra = (u32)b->size, .address = n->at,
                             .block = n->block, .thread = n->warp * LANES + lane, .count = 1});
}

static void check_list(Warp *w, const Insn *i, u32 thread, u32 list, const Buffer *b) {
  const Ledger *g = ledger_of(w->worker);
  for (u32 at = list; at; at = g->node[at - 1].next) {
    const Node *n = &g->node[at - 1];
    for (u32 m = n->lanes; m; m &= m - 1) {
      u32 l = first_lane(m);
      if (ordered_before(w, thread, n->block, n->phase, n->warp * LANES + l, n->epoch)) continue;
      report_use(w, i, n, l, b);
      break;
    }
  }
}

static void check(Warp *w, const Insn *i, u32 lane, Buffer *b) {
  u32 thread = thread_of(w, lane);
  for (u64 g = 0; b->cell && g <= b->size >> w->launch->global_shift; g++) {
    const Head *h = (const Head *)&b->cell[g];
    check_list(w, i, thread, h->readers, b);
    check_list(w, i, thread, h->writers, b);
  }
}

static bool listens(const Launch *n) { return n->exact; }

const Watcher frees_watcher = {.listens = listens, .freeing = check};
