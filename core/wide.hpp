// WEFT_WIDE before a function that is a loop over columns: it is compiled a second time for processors with AVX2 and BMI2
// (x86-64-v3), and which of the two is called is found out when the program starts. What they compute is the same: no function of
// floating-point numbers may be one, as products and sums would become one rounding. What it calls has to be inlined into it.
#pragma once

#include <cstdint>  // __GLIBC__

#if defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && defined(__x86_64__) && \
    defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WEFT_WIDE [[gnu::noinline, gnu::target_clones("arch=x86-64-v3", "default")]]
#else
#define WEFT_WIDE [[gnu::noinline]]
#endif
