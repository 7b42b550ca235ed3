#pragma once
#ifndef NULL
#define NULL 0
#endif
typedef decltype(nullptr) nullptr_t;
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
