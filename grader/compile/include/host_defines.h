// Nothing to add: the compiler knows these, or cuda_runtime.h has them.
#pragma once
#include "cuda_runtime.h"
