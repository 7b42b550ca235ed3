// assert is the compiler's own.
#pragma once
