// malloc, free and abs are the compiler's own; they take from the device's heap.
#pragma once
#include "stddef.h"
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
