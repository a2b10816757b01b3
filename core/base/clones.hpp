// MAXMARGIN_CLONES before a function compiles it once for plain x86-64 and once for AVX2+FMA,
// chosen when the library is loaded. Elsewhere it is nothing. MAXMARGIN_INLINE marks templates that
// must melt into such a function to be vectorised with it. MAXMARGIN_WIDE_CLONES adds AVX-512, for
// loops of arithmetic without sums over their elements: wider sums would have other last digits.
//
// Such a function neither allocates nor throws: GCC takes every call of the dispatcher for one that
// cannot throw, so an exception that leaves a clone can end the process. Its buffers come from
// outside.
#pragma once
#include <cstddef>  // for __GLIBC__: choosing when a library is loaded needs it, and musl cannot

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
// A level of the architecture is asked for by its features. The name of a processor ("haswell")
// would match that one model only, and leave every other one, AMD's too, with plain x86-64.
#if __GNUC__ >= 12
#define MAXMARGIN_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#define MAXMARGIN_WIDE_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define MAXMARGIN_CLONES __attribute__((target_clones("avx2", "default")))
#define MAXMARGIN_WIDE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define MAXMARGIN_CLONES
#define MAXMARGIN_WIDE_CLONES
#endif

#if defined(__GNUC__)
#define MAXMARGIN_UNROLL_6 _Pragma("GCC unroll 6")
#else
#define MAXMARGIN_UNROLL_6
#endif

#if defined(__GNUC__)
#define MAXMARGIN_INLINE inline __attribute__((always_inline))
#else
#define MAXMARGIN_INLINE inline
#endif
