#include "core/files/kept_copies.hpp"

#include <fmt/format.h>
// As part of this file, compiled as it is, which takes half the instructions of the library.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/files/atomic_file.hpp"
#include "core/files/input_file.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string cache_folder() {
  if (std::getenv("WEFT_CACHE_DIR") != nullptr) return variable("WEFT_CACHE_DIR");
  // A relative one counts as none (XDG Base Directory Specification).
  if (const std::string xdg = variable("XDG_CACHE_HOME"); xdg.starts_with('/')) return xdg + "/weft";
  if (const std::string home = variable("HOME"); home.starts_with('/')) return home + "/.cache/weft";
  return {};
}

std::uint64_t hash_of(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

// The oldest copies of a purpose go until there is room for one more.
void make_room(const std::string& folder, const std::string& prefix) {
  std::vector<std::pair<fs::file_time_type, fs::path>> copies;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (!at->path().filename().string().starts_with(prefix)) continue;
    std::error_code gone;
    copies.emplace_back(fs::last_write_time(at->path(), gone), at->path());
  }
  std::ranges::sort(copies);
  for (std::size_t i = 0; i + KeptCopy::kMostCopies <= copies.size(); ++i)
    fs::remove(copies[i].second, error);
}

}  // namespace

KeptCopy::KeptCopy(std::string_view purpose, std::string_view input)
    : folder_(cache_folder()), purpose_(purpose) {
  if (folder_.empty()) return;
  const XXH128_hash_t hash = XXH3_128bits(input.data(), input.size());
  path_ = fmt::format("{}/{}-{:016x}{:016x}", folder_, purpose_, hash.high64, hash.low64);
}

std::optional<FileBytes> KeptCopy::find() const {
  if (path_.empty()) return std::nullopt;
  std::error_code error;
  if (!fs::is_regular_file(path_, error)) return std::nullopt;
  auto bytes = read_bytes(path_);
  std::uint64_t hash = 0;
  if (!bytes || bytes->size() < sizeof hash) return std::nullopt;
  const std::size_t made = bytes->size() - sizeof hash;
  std::memcpy(&hash, bytes->data() + made, sizeof hash);
  bytes->resize(made);
  if (hash_of({bytes->data(), made}) != hash) return std::nullopt;
  return std::move(*bytes);
}

void KeptCopy::keep(std::string_view made) const {
  if (path_.empty()) return;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return;
  make_room(folder_, purpose_ + '-');
  auto file = AtomicFile::open(path_);
  if (!file) return;
  file->write(made);
  const std::uint64_t hash = hash_of(made);
  file->write({reinterpret_cast<const char*>(&hash), sizeof hash});
  (void)file->commit();
}

}  // namespace weft
