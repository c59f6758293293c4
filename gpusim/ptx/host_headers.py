"""Headers of the host that CUDA sources include, as far as kernels use them: NVRTC has none."""

from __future__ import annotations

_INTEGERS = """#pragma once
typedef signed char int8_t; typedef unsigned char uint8_t;
typedef signed short int16_t; typedef unsigned short uint16_t;
typedef signed int int32_t; typedef unsigned int uint32_t;
typedef signed long long int64_t; typedef unsigned long long uint64_t;
typedef int64_t intptr_t; typedef uint64_t uintptr_t;
#include <limits.h>
#define INT8_MAX   SCHAR_MAX
#define INT16_MAX  SHRT_MAX
#define INT32_MAX  INT_MAX
#define INT64_MAX  LLONG_MAX
#define INT8_MIN   SCHAR_MIN
#define INT16_MIN  SHRT_MIN
#define INT32_MIN  INT_MIN
#define INT64_MIN  LLONG_MIN
#define UINT8_MAX  UCHAR_MAX
#define UINT16_MAX USHRT_MAX
#define UINT32_MAX UINT_MAX
#define UINT64_MAX ULLONG_MAX
"""
"""Types and texts are those of CUDA's own headers for NVRTC (cuda/std/cstdint, climits), beside
which they may stand."""

_ASSERT = """#undef assert
#ifdef NDEBUG
#define assert(e) ((void)0)
#else
extern "C" __device__ void __assertfail(const char*, const char*, unsigned, const char*, size_t);
#define assert(e) ((e) ? (void)0 : __assertfail(#e, __FILE__, __LINE__, __func__, 1))
#endif
"""

_LIMITS = """#pragma once
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define SHRT_MIN  (-SHRT_MAX - 1)
#define SHRT_MAX  0x7fff
#define USHRT_MAX 0xffff
#define INT_MIN   (-INT_MAX - 1)
#define INT_MAX   0x7fffffff
#define UINT_MAX  0xffffffff
#define LONG_MIN  (-LONG_MAX - 1)
#define LONG_MAX  LLONG_MAX
#define ULONG_MAX ULLONG_MAX
#define LLONG_MIN  (-LLONG_MAX - 1)
#define LLONG_MAX  0x7fffffffffffffffLL
#define ULLONG_MAX 0xffffffffffffffffUL
"""

_FLOATS = """#pragma once
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define DBL_MAX 1.7976931348623158e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
"""

_MATH = """#pragma once
#define M_PI 3.14159265358979323846
#define M_E 2.7182818284590452354
#define M_SQRT2 1.41421356237309504880
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
"""

_EMPTY = (
    "stdio.h", "cstdio", "stdlib.h", "cstdlib", "string.h", "cstring", "stddef.h", "cstddef",
    "iostream", "fstream", "sstream", "iomanip", "string", "vector", "algorithm", "numeric",
    "random", "chrono", "memory", "time.h", "ctime", "sys/time.h",
)  # fmt: skip

HOST_HEADERS = {
    **dict.fromkeys(_EMPTY, "#pragma once\n"),
    **dict.fromkeys(("stdint.h", "cstdint", "inttypes.h"), _INTEGERS),
    **dict.fromkeys(("assert.h", "cassert"), _ASSERT),
    **dict.fromkeys(("limits.h", "climits"), _LIMITS),
    **dict.fromkeys(("float.h", "cfloat"), _FLOATS),
    **dict.fromkeys(("math.h", "cmath"), _MATH),
}
"""Contents by name: what only the host uses is empty."""

WITH_EVERY_SOURCE = ("math.h", "limits.h", "stdint.h")
"""What nvcc includes before every source, by its runtime's headers: INFINITY, INT_MAX, uint32_t."""
