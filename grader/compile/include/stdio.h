// printf is the compiler's own; a kernel has no files.
#pragma once
#include "stddef.h"
