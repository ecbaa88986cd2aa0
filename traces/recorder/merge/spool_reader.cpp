#include "traces/recorder/merge/spool_reader.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include "core/source_pos.hpp"
#include "traces/op.hpp"
#include "traces/weft/format.hpp"

namespace weft::recorder {

Result<SpoolReader> SpoolReader::open(const std::string& path) {
  SpoolReader r;
  r.path_ = path;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat st {};
  if (fd < 0 || ::fstat(fd, &st) != 0) {
    const std::string why = std::strerror(errno);
    if (fd >= 0) ::close(fd);
    return bad_input(path, "cannot read the spool: " + why);
  }
  r.size_ = static_cast<std::uint64_t>(st.st_size);
  if (r.size_ == 0) {  // its rank ended before it could begin
    ::close(fd);
    return r;
  }
  if (r.size_ < kSpoolHeaderBytes) {
    ::close(fd);
    return bad_input(path, "a spool without a header", std::to_string(r.size_) + " bytes",
                     "at least " + std::to_string(kSpoolHeaderBytes) + " bytes");
  }
  void* at = ::mmap(nullptr, r.size_, PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  if (at == MAP_FAILED) return bad_input(path, std::string("cannot map the spool: ") + std::strerror(errno));
  r.data_ = static_cast<const char*>(at);
  const SpoolHeader& h = r.header();
  if (h.magic != 0 && h.magic != kSpoolMagic)
    return bad_input(BytePos{path}.text(), "not a spool of weft record");
  if (h.magic == 0 && h.version == 0) return r;  // the same
  if (h.version != kSpoolVersion)
    return bad_input(BytePos{path, offsetof(SpoolHeader, version)}.text(),
                     "a spool of another version of the recorder", std::to_string(h.version),
                     std::to_string(kSpoolVersion));
  if (h.header_bytes < kSpoolHeaderBytes || h.header_bytes > r.size_ || h.header_bytes % 8 != 0)
    return bad_input(BytePos{path, offsetof(SpoolHeader, header_bytes)}.text(),
                     "a damaged spool: header size", std::to_string(h.header_bytes));
  if (r.started()) WEFT_TRY(r.check_header());
  return r;
}

Result<void> SpoolReader::check_header() const {
  const SpoolHeader& h = header();
  const auto damaged = [this](std::size_t at, const char* what, auto got, const std::string& expected) {
    return bad_input(BytePos{path_, at}.text(), std::string("a damaged spool: ") + what, std::to_string(got),
                     expected);
  };
  constexpr std::int64_t kMaxNs = INT64_MAX / 1000;
  if (h.world_size < 1 || static_cast<std::uint32_t>(h.world_size) > traces::format::kMaxRanks)
    return damaged(offsetof(SpoolHeader, world_size), "number of ranks", h.world_size,
                   "1.." + std::to_string(traces::format::kMaxRanks));
  if (h.world_rank < 0 || h.world_rank >= h.world_size)
    return damaged(offsetof(SpoolHeader, world_rank), "rank out of range", h.world_rank,
                   "0.." + std::to_string(h.world_size - 1));
  if (h.clock_resolution_ns < 0 || h.clock_resolution_ns > 1'000'000'000)
    return damaged(offsetof(SpoolHeader, clock_resolution_ns), "clock resolution", h.clock_resolution_ns,
                   "0..1000000000 ns");
  if (h.thread_level > 3)
    return damaged(offsetof(SpoolHeader, thread_level), "thread level", h.thread_level, "0..3");
  if (h.cpu_ns < 0 || h.cpu_ns > kMaxNs)
    return damaged(offsetof(SpoolHeader, cpu_ns), "CPU time", h.cpu_ns,
                   "0.." + std::to_string(kMaxNs) + " ns");
  if (h.wall_ns < 0 || h.wall_ns > kMaxNs)
    return damaged(offsetof(SpoolHeader, wall_ns), "wall time", h.wall_ns,
                   "0.." + std::to_string(kMaxNs) + " ns");
  if (h.spun_ns < 0 || h.spun_ns > kMaxNs)
    return damaged(offsetof(SpoolHeader, spun_ns), "time between polls", h.spun_ns,
                   "0.." + std::to_string(kMaxNs) + " ns");
  // The recorder names a file after what its header says.
  char name[64];
  std::snprintf(name, sizeof name, "%016llx.%d.spool", static_cast<unsigned long long>(h.job), h.world_rank);
  const std::string base = path_.substr(path_.rfind('/') + 1);
  if (base != name)
    return bad_input(BytePos{path_, offsetof(SpoolHeader, job)}.text(),
                     "a damaged spool: job and rank are not those of the file's name", name, base);
  return {};
}

std::string SpoolReader::position(std::uint64_t offset) const {
  return BytePos{path_, offset, -1, started() ? header().world_rank : -1}.text();
}

SpoolReader::SpoolReader(SpoolReader&& o) noexcept
    : path_(std::move(o.path_)), data_(std::exchange(o.data_, nullptr)), size_(std::exchange(o.size_, 0)) {}

SpoolReader& SpoolReader::operator=(SpoolReader&& o) noexcept {
  if (this != &o) {
    release();
    path_ = std::move(o.path_);
    data_ = std::exchange(o.data_, nullptr);
    size_ = std::exchange(o.size_, 0);
  }
  return *this;
}

SpoolReader::~SpoolReader() { release(); }

void SpoolReader::release() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
  data_ = nullptr;
}

SpoolReader::Step SpoolReader::next(std::uint64_t& offset, Record& out) const {
  for (;;) {
    if (offset == size_) return Step::kEnd;
    if (size_ - offset < 8) return Step::kDamaged;
    const auto* r = reinterpret_cast<const SpoolRecord*>(data_ + offset);
    const std::uint64_t list_bytes = std::uint64_t{r->list_words} * 8;
    if (r->kind == 0) return *reinterpret_cast<const std::uint64_t*>(r) == 0 ? Step::kEnd : Step::kDamaged;
    if (r->kind == kPadding) {
      if (list_bytes > size_ - offset - 8) return Step::kDamaged;
      offset += 8 + list_bytes;
      continue;
    }
    if (size_ - offset < sizeof(SpoolRecord) || list_bytes > size_ - offset - sizeof(SpoolRecord))
      return Step::kDamaged;
    if (r->kind != kCommDefine && r->kind != kLeft && r->kind > traces::kOpKindCount) return Step::kDamaged;
    out.fixed = r;
    out.list = {reinterpret_cast<const std::int64_t*>(r + 1), r->list_words};
    out.offset = offset;
    offset += sizeof(SpoolRecord) + list_bytes;
    return Step::kRecord;
  }
}

}  // namespace weft::recorder
