// memcpy and memset are the compiler's own.
#pragma once
#include "stddef.h"
