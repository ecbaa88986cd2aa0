#include "tests/fuzz/target.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace weft::fuzz {

MemFile::MemFile(std::string_view bytes) : fd_(::memfd_create("weft_fuzz", MFD_CLOEXEC)) {
  require(fd_ >= 0, "memfd_create");
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n = ::write(fd_, bytes.data() + at, bytes.size() - at);
    require(n > 0, "write to a file in memory");
    at += static_cast<std::size_t>(n);
  }
  path_ = "/proc/self/fd/" + std::to_string(fd_);
}
MemFile::~MemFile() { ::close(fd_); }

void require(bool kept, std::string_view what) {
  if (kept) return;
  std::fprintf(stderr, "fuzz target: broken: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

std::vector<Target> all_targets() {
  std::vector<Target> all = trace_targets();
#ifdef WEFT_FUZZ_OTF2
  for (const Target& t : otf2_targets()) all.push_back(t);
#endif
  for (auto part :
       {recorder_targets(), platform_targets(), table_targets(), recording_targets(), journal_targets()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace weft::fuzz
