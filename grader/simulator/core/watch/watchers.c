/* The table of watchers that the machine reads at the start of a launch. */
#include "watch/watchers.h"

_Static_assert((int)WATCHERS_IN_ALL <= (int)MAX_WATCHERS, "raise MAX_WATCHERS in machine/warp.h");

#define WATCHER(NAME) &NAME##_watcher,
const Watcher *const watchers[] = {WATCHERS(WATCHER) NULL};
#undef WATCHER
