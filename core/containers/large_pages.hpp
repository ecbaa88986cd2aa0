// Large pages for the heap: a replay of thousands of ranks touches a few hundred MB in no order, and a page table of
// 4 KiB pages for them does not fit into the processor's caches of translations. A short one waits less for the system, which is
// asked for a page once for 512 of the small ones.
#pragma once

namespace weft {

// Asks the system to back the heap of the first thread by large pages as it grows. Costs address space, no memory.
// Results do not depend on it; where the system or its C library has no such thing nothing happens.
void prefer_large_pages();

}  // namespace weft
