#include "traces/packed/walk_archive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>

#include "core/files/input_file.hpp"
#include "core/source_pos.hpp"
#include "traces/packed/archive_library.hpp"
#include "traces/packed/gzip_stream.hpp"

namespace weft::traces {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPieceBytes = 1u << 20;

constexpr Packing kPackings[] = {{".gz", "\x1f\x8b", "gzip -d"},
                                 {".zst", "\x28\xb5\x2f\xfd", "zstd -d"},
                                 {".xz", {"\xfd\x37zXZ\0", 6}, "xz -d"},
                                 {".bz2", "BZh", "bzip2 -d"}};

using ArchivePtr = std::unique_ptr<archive, decltype(ArchiveLibrary::read_free)>;

// `byte`: how far it had come; a file that is cut off: where it ends.
Error archive_fault(const ArchiveLibrary& library, const std::string& path, const std::string& member,
                    archive* a, std::uint64_t byte) {
  const char* text = library.error_string(a);
  const std::string_view why = text != nullptr ? text : "unknown reason";
  std::error_code ec;
  if (why.find("runcated") != std::string_view::npos)
    if (const std::uint64_t end = fs::file_size(path, ec); !ec) byte = end;
  return bad_input(byte > 0 ? BytePos{path, byte}.text() : path,
                   fmt::format("cannot unpack{}: {}", member.empty() ? "" : " " + member, why));
}

// What stands behind the last member that is known must be padding, which is zeros. The library takes anything for that of bzip2; of
// a tar in what it unpacks itself it does not tell where that ends.
Result<void> nothing_is_left(const std::string& path, std::uint64_t from) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(from));
  std::array<char, 4096> piece{};
  for (std::uint64_t at = from; file; at += static_cast<std::uint64_t>(file.gcount())) {
    file.read(piece.data(), piece.size());
    const std::string_view here(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (const std::size_t other = here.find_first_not_of('\0'); other != std::string_view::npos)
      return bad_input(BytePos{path, at + other}.text(), "bytes behind the end of the compressed data", {},
                       "another member, or the end of the file");
  }
  return {};
}

la_ssize_t next_of_gzip(archive* /*a*/, void* gzip, const void** piece) {
  auto& from = *static_cast<GzipStream*>(gzip);
  const std::string_view next = from.next();
  *piece = next.data();
  return from.failed() ? ARCHIVE_FATAL : static_cast<la_ssize_t>(next.size());
}

Error too_much(const std::string& path, std::uint64_t unpacked, std::uint64_t read) {
  return bad_input(BytePos{path, read}.text(), "the file unpacks to too much",
                   fmt::format("{} bytes of {}", unpacked, read), std::string(kMostUnpacked));
}

// Behind the end of a tar there is padding in what was packed, too, and only then what checks it.
Result<void> read_to_its_end(GzipStream& gzip, const std::string& path, std::uint64_t unpacked) {
  for (std::string_view rest; !(rest = gzip.next()).empty();) {
    unpacked += rest.size();
    if (unpacked > most_unpacked(gzip.read())) return too_much(path, unpacked, gzip.read());
  }
  if (gzip.failed()) return gzip.error({});
  return nothing_is_left(path, gzip.read());
}

// A warning is of what nothing here hangs on. To try again (ARCHIVE_RETRY) is to go on behind a header that is damaged.
bool is_fault(int answer) { return answer < ARCHIVE_OK && answer != ARCHIVE_WARN; }

// The number of files in an archive that its size explains: names and headers compress, too.
std::uint64_t most_members(std::uint64_t packed) { return 65'536 + packed / 16; }

}  // namespace

const Packing* packing_of(std::string_view first_bytes) {
  const auto* const p =
      std::ranges::find_if(kPackings, [&](const Packing& one) { return first_bytes.starts_with(one.first); });
  return p != std::end(kPackings) ? p : nullptr;
}

std::span<const std::string_view> packing_extensions() {
  static constexpr auto kExtensions = [] {
    std::array<std::string_view, std::size(kPackings)> out{};
    std::ranges::transform(kPackings, out.begin(), &Packing::extension);
    return out;
  }();
  return kExtensions;
}

bool looks_compressed_or_tar(std::string_view b) {
  return packing_of(b) != nullptr || (b.size() > 262 && b.substr(257, 5) == "ustar");
}

Result<void> walk_archive(const std::string& path, const std::function<bool(const std::string&)>& enter,
                          const std::function<Result<void>(std::string_view, bool)>& data) {
  WEFT_ASSIGN(const ArchiveLibrary library, load_archive_library());
  // Its own gzip passes over what checks the data.
  const std::unique_ptr<GzipStream> gzip = GzipStream::open(path);
  const ArchivePtr a(library.read_new(), library.read_free);
  if (a == nullptr) throw std::bad_alloc();
  // Those that docs/trace-format.md names: others start programs.
  library.read_support_filter_gzip(a.get());
  library.read_support_filter_zstd(a.get());
  library.read_support_filter_xz(a.get());
  library.read_support_filter_bzip2(a.get());
  library.read_support_format_tar(a.get());
  library.read_support_format_raw(a.get());
  // Of the file, so far.
  const auto bytes_read = [&] {
    return gzip != nullptr
               ? gzip->read()
               : static_cast<std::uint64_t>(std::max<la_int64_t>(0, library.filter_bytes(a.get(), -1)));
  };
  const auto fault = [&](const std::string& member) {
    return gzip != nullptr && gzip->failed() ? gzip->error(member.empty() ? "" : " " + member)
                                             : archive_fault(library, path, member, a.get(), bytes_read());
  };
  if ((gzip != nullptr ? library.read_open(a.get(), gzip.get(), nullptr, next_of_gzip, nullptr)
                       : library.read_open_filename(a.get(), path.c_str(), kPieceBytes)) != ARCHIVE_OK)
    return fault({});
  std::error_code ec;
  const std::uint64_t packed = fs::file_size(path, ec);
  std::uint64_t unpacked = 0, members = 0;
  bool tar = true;
  while (true) {
    archive_entry* entry = nullptr;
    const int r = library.read_next_header(a.get(), &entry);
    if (r == ARCHIVE_EOF) {
      if (gzip != nullptr) return read_to_its_end(*gzip, path, unpacked);
      return tar || ec ? Result<void>() : nothing_is_left(path, bytes_read());
    }
    if (is_fault(r)) return fault({});
    const int filters = library.filter_count(a.get());  // with what comes to the library as the last one
    if (filters > (gzip != nullptr ? 1 : 2))
      return bad_input(path, "compressed more than once",
                       filters > 2 ? library.filter_name(a.get(), 1) : "gzip", "compressed text, or a tar");
    if (++members > most_members(packed))
      return bad_input(path, "the archive has too many files for its size", {},
                       fmt::format("at most {}", most_members(packed)));
    const bool raw = (library.format(a.get()) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_RAW;
    tar = !raw;
    if (tar && library.entry_filetype(entry) != AE_IFREG) continue;
    const char* stored = library.entry_pathname(entry);
    std::string name = !tar || stored == nullptr ? "" : stored;
    while (name.starts_with("./")) name.erase(0, 2);
    const bool wanted = enter(name);
    while (true) {
      const void* block = nullptr;
      std::size_t n = 0;
      la_int64_t offset = 0;
      const int d = library.read_data_block(a.get(), &block, &n, &offset);
      if (d == ARCHIVE_EOF) break;
      if (is_fault(d)) return fault(name);
      unpacked += n;
      if (const std::uint64_t read = bytes_read(); unpacked > most_unpacked(read))
        return too_much(path, unpacked, read);
      if (wanted) WEFT_TRY(data(std::string_view(static_cast<const char*>(block), n), false));
    }
    if (wanted) WEFT_TRY(data({}, true));
  }
}

}  // namespace weft::traces
