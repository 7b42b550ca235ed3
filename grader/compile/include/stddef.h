#pragma once
#ifndef NULL
#define NULL 0
#endif
typedef decltype(nullptr) nullptr_t;
#ifndef offsetof
#define offsetof(type, member) ((size_t)__INTADDR__(&((type *)0)->member))
#endif
