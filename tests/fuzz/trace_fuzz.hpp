// One input through every public trace reader and the trace doctor.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "traces/check.hpp"
#include "traces/trace.hpp"

namespace weft::traces {

inline void fuzz_one(std::string_view bytes) {
  char path[] = "/tmp/weft_fuzz_XXXXXX";
  const int fd = ::mkstemp(path);
  if (fd < 0) std::abort();
  std::FILE* f = ::fdopen(fd, "wb");
  std::fwrite(bytes.data(), 1, bytes.size(), f);
  std::fclose(f);
  for (const bool salvage : {false, true})
    if (auto t = open_trace_with({path}, {{}, salvage})) (void)check_trace(**t);
  ::unlink(path);
}

}  // namespace weft::traces
