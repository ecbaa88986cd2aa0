#include "traces/recorder/spool_reader.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/source_pos.hpp"
#include "traces/op.hpp"

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
  if (h.version != kSpoolVersion || h.header_bytes < kSpoolHeaderBytes || h.header_bytes > r.size_)
    return bad_input(BytePos{path, 8}.text(), "a spool of another version of the recorder",
                     std::to_string(h.version), std::to_string(kSpoolVersion));
  if (h.magic == kSpoolMagic && (h.world_size < 1 || h.world_rank < 0 || h.world_rank >= h.world_size))
    return bad_input(BytePos{path, 24}.text(), "rank out of range", std::to_string(h.world_rank),
                     "0.." + std::to_string(h.world_size - 1));
  return r;
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

bool SpoolReader::next(std::uint64_t& offset, Record& out) const {
  for (;;) {
    if (offset > size_ || size_ - offset < 8) return false;
    const auto* r = reinterpret_cast<const SpoolRecord*>(data_ + offset);
    if (r->kind == 0) return false;
    const std::uint64_t list_bytes = std::uint64_t{r->list_words} * 8;
    if (r->kind == kPadding) {
      if (list_bytes > size_ - offset - 8) return false;
      offset += 8 + list_bytes;
      continue;
    }
    if (size_ - offset < sizeof(SpoolRecord) || list_bytes > size_ - offset - sizeof(SpoolRecord))
      return false;
    if (r->kind != kCommDefine && r->kind > traces::kOpKindCount) return false;
    out.fixed = r;
    out.list = {reinterpret_cast<const std::int64_t*>(r + 1), r->list_words};
    offset += sizeof(SpoolRecord) + list_bytes;
    return true;
  }
}

}  // namespace weft::recorder
