#include "traces/formats/dumpi/input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>

#include "core/files/input_file.hpp"
#include "core/source_pos.hpp"
#include "traces/formats/dumpi/rank_file.hpp"
#include "traces/packed/other_trace.hpp"
#include "traces/weft/format.hpp"

namespace weft::traces::dumpi {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxMetaBytes = 1u << 20;

bool starts_with_magic(const std::string& path) {
  char b[8] = {};
  return std::ifstream(path, std::ios::binary).read(b, sizeof b) && has_magic({b, sizeof b});
}

// "dir/run-0012.bin" -> prefix "dir/run", number 12.
struct Numbered {
  std::string prefix;
  std::uint64_t number = 0;
};
std::optional<Numbered> numbered(const std::string& path) {
  if (!path.ends_with(".bin")) return std::nullopt;
  const std::size_t end = path.size() - 4;
  std::size_t digits = end;
  while (digits > 0 && path[digits - 1] >= '0' && path[digits - 1] <= '9') --digits;
  if (digits == end || end - digits > 9 || digits == 0 || path[digits - 1] != '-') return std::nullopt;
  return Numbered{path.substr(0, digits - 1), std::stoull(path.substr(digits, end - digits))};
}

std::string rank_name(const std::string& prefix, std::uint64_t rank) {
  return fmt::format("{}-{:04d}.bin", prefix, rank);
}

// Files of a directory that end so, sorted.
std::vector<std::string> files_in(const fs::path& dir, std::string_view ending) {
  std::vector<std::string> out;
  std::error_code ec;
  for (const auto& e : fs::directory_iterator(dir.empty() ? fs::path(".") : dir, ec))
    if (std::string name = e.path().string(); e.is_regular_file(ec) && name.ends_with(ending))
      out.push_back(dir.empty() ? e.path().filename().string() : std::move(name));
  std::ranges::sort(out);
  return out;
}

Result<std::vector<std::string>> family(const std::string& where, const fs::path& dir,
                                        const std::string* prefix) {
  std::map<std::string, std::map<std::uint64_t, std::string>> families;
  for (const std::string& name : files_in(dir, ".bin"))
    if (const auto n = numbered(name); n && (prefix == nullptr || n->prefix == *prefix))
      if (!families[n->prefix].emplace(n->number, name).second)
        return bad_input(where, "two files have the same rank number", name);
  if (families.empty())
    return bad_input(where, "no DUMPI trace is in the directory", {},
                     "a .meta file, or files NAME-0000.bin and so on");
  if (families.size() > 1)
    return bad_input(where, "more than one DUMPI trace is in the directory",
                     fmt::format("{} and {}", families.begin()->first, std::next(families.begin())->first),
                     "the .meta file of one");
  std::vector<std::string> out;
  for (const auto& [number, name] : families.begin()->second) {
    if (number != out.size())
      return bad_input(where, "a rank's file is missing", name,
                       rank_name(families.begin()->first, out.size()));
    out.push_back(name);
  }
  return out;
}

Result<std::vector<std::string>> from_meta(const std::string& path) {
  WEFT_ASSIGN(const std::string text, read_text(path, kMaxMetaBytes));
  std::optional<std::uint32_t> ranks;
  std::string prefix = fs::path(path).stem().string();
  std::uint32_t line = 0;
  for (std::string_view rest = text; !rest.empty();) {
    ++line;
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view one = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (!one.empty() && (one.back() == '\r' || one.back() == ' ')) one.remove_suffix(1);
    const std::size_t eq = one.find('=');
    if (eq == std::string_view::npos) continue;
    const std::string_view key = one.substr(0, eq), value = one.substr(eq + 1);
    if (key == "numprocs") {
      std::uint32_t n = 0;
      const auto [p, ec] = std::from_chars(value.data(), value.data() + value.size(), n);
      if (ec != std::errc() || p != value.data() + value.size() || n == 0 || n > format::kMaxRanks)
        return bad_input(SourcePos{path, line, static_cast<std::uint32_t>(eq + 2)}.text(),
                         "the number of ranks cannot be", std::string(value),
                         fmt::format("1 to {}", format::kMaxRanks));
      ranks = n;
    } else if (key == "fileprefix" && !value.empty()) {
      prefix = fs::path(value).filename().string();  // the folder is that of the recording
    }
  }
  if (!ranks) return bad_input(path, "the file says no number of ranks", {}, "a line numprocs=N");
  const fs::path dir = fs::path(path).parent_path();
  std::error_code ec;
  // A trace that was renamed has its .meta renamed with it.
  if (const std::string stem = fs::path(path).stem().string();
      !fs::exists(rank_name((dir / prefix).string(), 0), ec) &&
      fs::exists(rank_name((dir / stem).string(), 0), ec))
    prefix = stem;
  std::vector<std::string> out;
  for (std::uint32_t r = 0; r < *ranks; ++r) {
    out.push_back(rank_name((dir / prefix).string(), r));
    if (fs::is_regular_file(out.back(), ec)) continue;
    if (auto packed = packed_trace_of(out.back())) return *std::move(packed);
    return bad_input(path, fmt::format("numprocs is {}, and the file of rank {} is missing", *ranks, r), {},
                     out.back());
  }
  if (const std::string one_more = rank_name((dir / prefix).string(), *ranks); fs::exists(one_more, ec))
    return bad_input(path, "there are more files than numprocs says", one_more,
                     fmt::format("{} ranks", *ranks));
  return out;
}

}  // namespace

Result<std::vector<std::string>> rank_paths(const std::vector<std::string>& paths) {
  if (paths.size() > 1) return paths;
  const std::string& path = paths[0];
  std::error_code ec;
  if (fs::is_directory(path, ec)) {
    const auto metas = files_in(path, ".meta");
    if (metas.size() > 1)
      return bad_input(path, "more than one DUMPI trace is in the directory",
                       fmt::format("{} and {}", metas[0], metas[1]), "the .meta file of one");
    return metas.empty() ? family(path, path, nullptr) : from_meta(metas[0]);
  }
  if (path.ends_with(".meta")) return from_meta(path);
  if (const auto n = numbered(path)) return family(path, fs::path(path).parent_path(), &n->prefix);
  return paths;
}

bool looks_like_dumpi(const std::string& path, std::string_view first_bytes) {
  const auto is_meta = [](std::string_view text) {
    return text.starts_with("numprocs=") || text.find("\nnumprocs=") != std::string_view::npos ||
           text.find("\nfileprefix=") != std::string_view::npos;
  };
  if (has_magic(first_bytes)) return true;
  std::error_code ec;
  if (!fs::is_directory(path, ec)) return path.ends_with(".meta") && is_meta(first_bytes);
  for (const std::string& name : files_in(path, ".bin"))
    if (numbered(name) && starts_with_magic(name)) return true;
  for (const std::string& name : files_in(path, ".meta")) {
    std::string text(4096, '\0');
    std::ifstream in(name, std::ios::binary);
    in.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(in.gcount()));
    if (is_meta(text)) return true;
  }
  return false;
}

}  // namespace weft::traces::dumpi
