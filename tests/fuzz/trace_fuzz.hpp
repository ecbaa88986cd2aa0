// One input through every public trace reader and the trace doctor.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "traces/check.hpp"
#include "traces/trace.hpp"

namespace weft::traces {

inline void fuzz_one(std::string_view bytes) {
  std::string path = (std::filesystem::temp_directory_path() / "weft_fuzz_XXXXXX").string();
  const int fd = ::mkstemp(path.data());
  if (fd < 0) std::abort();
  std::FILE* f = ::fdopen(fd, "wb");
  std::fwrite(bytes.data(), 1, bytes.size(), f);
  std::fclose(f);
  for (const bool salvage : {false, true})
    if (auto t = open_trace_with({path}, {{}, salvage})) (void)check_trace(**t);
  ::unlink(path.c_str());
}

}  // namespace weft::traces
