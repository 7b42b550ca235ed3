// clock and clock_t are the compiler's own: they count the multiprocessor's cycles.
#pragma once
