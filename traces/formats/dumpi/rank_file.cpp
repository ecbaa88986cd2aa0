#include "traces/formats/dumpi/rank_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "core/source_pos.hpp"
#include "traces/formats/dumpi/layout.hpp"

namespace weft::traces::dumpi {
namespace {

constexpr std::string_view kMagic{"\xff\xaa\xdd\x44UMPI", 8};
constexpr std::uint64_t kFooterMagic = 0xf007fee7;
constexpr std::uint64_t kMostTypes = 1u << 16;  // a datatype is a u16
constexpr std::size_t kOldestIndexWords = 5, kNewestIndexWords = 8;

std::uint64_t big(const char* p, std::size_t n) {
  std::uint64_t v = 0;
  for (std::size_t i = 0; i < n; ++i) v = v << 8 | static_cast<unsigned char>(p[i]);
  return v;
}

struct FileCloser {
  void operator()(std::FILE* f) const { std::fclose(f); }
};

// Reads at offsets, each checked against the size of the file.
class Parts {
 public:
  Parts(std::string path, std::FILE* f) : path_(std::move(path)), file_(f) {}
  [[nodiscard]] Result<void> measure() {
    if (std::fseek(file_.get(), 0, SEEK_END) != 0 || std::ftell(file_.get()) < 0)
      return bad_input(path_, "not a regular file", {}, "the DUMPI file of a rank");
    size_ = static_cast<std::uint64_t>(std::ftell(file_.get()));
    return {};
  }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  void seek(std::uint64_t at) { at_ = at; }
  [[nodiscard]] std::uint64_t at() const { return at_; }
  [[nodiscard]] std::string where() const { return where(at_); }
  [[nodiscard]] std::string where(std::uint64_t at) const { return BytePos{path_, at}.text(); }

  Result<std::string> bytes(std::uint64_t n, const char* what) {
    if (n > size_ - std::min(at_, size_))
      return bad_input(where(), fmt::format("the file is too short for the {}", what),
                       fmt::format("{} bytes", n), fmt::format("at most {}", size_ - std::min(at_, size_)));
    std::string out(n, '\0');
    if (std::fseek(file_.get(), static_cast<long>(at_), SEEK_SET) != 0 ||
        std::fread(out.data(), 1, n, file_.get()) != n)
      return bad_input(where(), fmt::format("cannot read: {}", std::strerror(errno)));
    at_ += n;
    return out;
  }
  Result<std::uint64_t> number(std::size_t width, const char* what) {
    WEFT_ASSIGN(const std::string b, bytes(width, what));
    return big(b.data(), width);
  }
  Result<std::string> text(const char* what) {
    WEFT_ASSIGN(const std::uint64_t n, number(2, what));
    return bytes(n, what);
  }
  Result<std::vector<std::uint32_t>> words(std::uint64_t n, const char* what) {
    WEFT_ASSIGN(const std::string b, bytes(4 * n, what));
    std::vector<std::uint32_t> out(n);
    for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<std::uint32_t>(big(b.data() + 4 * i, 4));
    return out;
  }

 private:
  std::string path_;
  std::unique_ptr<std::FILE, FileCloser> file_;
  std::uint64_t size_ = 0, at_ = 0;
};

struct Index {
  std::uint64_t sizes = 0, counters = 0, header = 0, stream = 0, footer = 0;
  std::uint64_t at = 0;  // where it stands
};

Result<Index> read_index(Parts& f) {
  for (std::size_t words = kNewestIndexWords; words >= kOldestIndexWords; --words) {
    if (f.size() < 8 * (words + 1)) continue;
    f.seek(f.size() - 8 * words);
    WEFT_ASSIGN(const std::string b, f.bytes(8 * words, "index"));
    if (!std::string_view(b).starts_with(kMagic)) continue;
    // Counted from the end: key values, footer, stream, header; then what came later.
    const auto word = [&](std::size_t from_end) {
      return from_end < words ? big(b.data() + 8 * (words - from_end), 8) : 0;
    };
    return Index{word(7), word(5), word(4), word(3), word(2), f.size() - 8 * words};
  }
  return bad_input(f.where(f.size()), "the file ends without an index: it is cut off", {},
                   "8 bytes ff aa dd \"DUMPI\" and 4 to 7 offsets");
}

Result<void> read_header(Parts& f, RankFile& out) {
  f.seek(out.end);
  WEFT_ASSIGN(const std::string v, f.bytes(3, "version"));
  out.version = {static_cast<std::uint8_t>(v[0]), static_cast<std::uint8_t>(v[1]),
                 static_cast<std::uint8_t>(v[2])};
  if (out.version < kOldest) {
    Error e = not_supported(fmt::format("DUMPI version {}", out.version.text()),
                            fmt::format("{} or later", kOldest.text()));
    e.where = f.where(out.end);
    return e;
  }
  WEFT_TRY(f.number(8, "start time"));
  WEFT_ASSIGN(out.host, f.text("host name"));
  WEFT_TRY(f.text("user name"));
  for (const char* what : {"mesh coordinates", "mesh size"}) {
    WEFT_ASSIGN(const std::uint64_t n, f.number(4, what));
    WEFT_TRY(f.words(n, what));
  }
  return {};
}

Result<void> read_footer(Parts& f, std::uint64_t at, RankFile& out) {
  f.seek(at);
  WEFT_ASSIGN(const std::uint64_t magic, f.number(8, "footer"));
  if (magic != kFooterMagic)
    return bad_input(f.where(at), "the footer has a wrong magic number", fmt::format("{:#x}", magic),
                     fmt::format("{:#x}", kFooterMagic));
  WEFT_ASSIGN(out.called, f.words(kFooterCounters, "footer"));
  WEFT_TRY(f.words(kFooterCounters, "footer"));
  return {};
}

Result<void> read_counters(Parts& f, std::uint64_t at, RankFile& out) {
  f.seek(at);
  WEFT_ASSIGN(const std::uint64_t n, f.number(4, "list of counters"));
  if (n > kMaxCounters)
    return bad_input(f.where(at), "too many performance counters", std::to_string(n),
                     fmt::format("at most {}", kMaxCounters));
  for (std::uint64_t i = 0; i < n; ++i) {
    WEFT_ASSIGN(std::string name, f.text("name of a counter"));
    out.counters.push_back(std::move(name));
  }
  return {};
}

}  // namespace

std::string Version::text() const { return fmt::format("{}.{}.{}", major, minor, patch); }

bool has_magic(std::string_view first_bytes) { return first_bytes.starts_with(kMagic); }

Result<RankFile> open_rank_file(const std::string& path) {
  std::FILE* opened = std::fopen(path.c_str(), "rbe");
  if (opened == nullptr)
    return bad_input(path, fmt::format("cannot open: {}", std::strerror(errno)), {},
                     "the DUMPI file of a rank");
  Parts f(path, opened);
  WEFT_TRY(f.measure());
  if (f.size() < kMagic.size()) return bad_input(path, "not a DUMPI file", {}, "ff aa dd \"DUMPI\" in front");
  WEFT_ASSIGN(const std::string magic, f.bytes(kMagic.size(), "magic"));
  if (magic != kMagic) return bad_input(f.where(0), "not a DUMPI file", {}, "ff aa dd \"DUMPI\" in front");
  WEFT_ASSIGN(const Index index, read_index(f));
  RankFile out;
  out.path = path;
  out.bytes = f.size();
  constexpr std::uint64_t kOffsets = 8;  // of CPU and wall clock, before the records
  const auto inside = [&](std::uint64_t offset, const char* what) -> Result<void> {
    if (offset >= kMagic.size() && offset < index.at) return {};
    return bad_input(f.where(index.at), fmt::format("the index puts the {} outside of the file", what),
                     std::to_string(offset), fmt::format("{} to {}", kMagic.size(), index.at - 1));
  };
  WEFT_TRY(inside(index.stream, "stream of calls"));
  WEFT_TRY(inside(index.header, "header"));
  if (index.header < index.stream + kOffsets + 2)
    return bad_input(f.where(index.at), "the index puts the header before the end of the stream of calls",
                     std::to_string(index.header), fmt::format("after {}", index.stream));
  out.stream = index.stream + kOffsets;
  out.end = index.header;
  WEFT_TRY(read_header(f, out));
  if (index.footer != 0) {
    WEFT_TRY(inside(index.footer, "footer"));
    WEFT_TRY(read_footer(f, index.footer, out));
  }
  if (index.counters != 0) {
    WEFT_TRY(inside(index.counters, "list of counters"));
    WEFT_TRY(read_counters(f, index.counters, out));
  }
  if (index.sizes != 0) {
    WEFT_TRY(inside(index.sizes, "sizes of datatypes"));
    f.seek(index.sizes);
    WEFT_ASSIGN(const std::uint64_t n, f.number(4, "sizes of datatypes"));
    if (n > kMostTypes)
      return bad_input(f.where(index.sizes), "too many sizes of datatypes", std::to_string(n),
                       fmt::format("at most {}", kMostTypes));
    WEFT_ASSIGN(out.type_sizes, f.words(n, "sizes of datatypes"));
  }
  return out;
}

}  // namespace weft::traces::dumpi
