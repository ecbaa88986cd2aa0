#include "traces/formats/liballprof/input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "core/source_pos.hpp"
#include "traces/formats/first_bytes.hpp"
#include "traces/formats/liballprof/line.hpp"
#include "traces/formats/ti/line.hpp"
#include "traces/packed/walk_archive.hpp"

namespace weft::traces::allprof {
namespace {

namespace fs = std::filesystem;

// Files of a folder that are looked into, to tell what it holds.
constexpr std::size_t kMostLooks = 64;

enum class Verdict : std::uint8_t { ours, other, open };

Verdict verdict_of(std::string_view text) {
  if (looks_like_liballprof(text)) return Verdict::ours;
  return looks_like_ti_line(text) ? Verdict::other : Verdict::open;
}

Verdict look_into(const std::string& path, std::string_view head) {
  if (!looks_compressed_or_tar(head)) return verdict_of(head);
  Verdict verdict = Verdict::open;
  FirstBytes first;
  bool looked = false;
  std::size_t looks = 0;
  (void)walk_archive(
      path,
      [&](const std::string&) {
        first = {};
        looked = false;
        return true;
      },
      [&](std::string_view data, bool last) -> Result<void> {
        if (looked) return {};
        first.add(data);
        if (first.wanted() > 0 && !last) return {};
        looked = true;
        verdict = verdict_of(first.bytes());
        if (verdict != Verdict::open || ++looks == kMostLooks) return bad_input(path, "enough was seen");
        return {};
      });
  return verdict;
}

std::vector<std::string> files_of(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ec;
  for (const auto& e : fs::directory_iterator(folder, ec))
    if (e.is_regular_file(ec)) files.push_back(e.path().string());
  std::ranges::sort(files);
  return files;
}

}  // namespace

bool looks_like_ours(const std::string& path, std::string_view head) {
  std::error_code ec;
  if (!fs::is_directory(path, ec)) return look_into(path, head) == Verdict::ours;
  std::size_t looks = 0;
  for (const std::string& file : files_of(path)) {
    if (++looks > kMostLooks) return false;
    const auto first = first_bytes(file);
    if (!first) continue;
    const Verdict verdict = look_into(file, *first);
    if (verdict != Verdict::open) return verdict == Verdict::ours;
  }
  return false;
}

Result<RankText> open_input(const std::vector<std::string>& paths) {
  std::error_code ec;
  if (paths.size() != 1 || fs::is_directory(paths[0], ec)) return RankText::open(paths);
  // A file of a family in its folder, unless it is an archive itself. What else is in the folder was not named.
  const fs::path path(paths[0]);
  const auto is_named = [&](const RankText::Part& p) {
    return p.member.empty() && fs::path(p.path).filename() == path.filename();
  };
  auto family = RankText::open_family(paths[0]);
  if (family && family->parts().size() > 1 && std::ranges::any_of(family->parts(), is_named)) return family;
  const std::string folder = path.parent_path().empty() ? "." : path.parent_path().string();
  if (const auto told = RankText::open({folder})) {
    std::vector<std::string> files;
    if (std::ranges::any_of(told->parts(), is_named))
      for (const RankText::Part& p : told->parts()) files.push_back(p.path);
    if (files.size() > 1) return RankText::open(files);
  }
  return RankText::open(paths);
}

Result<void> LineSplitter::feed(const std::string& file, std::string_view text, bool last, const Take& take) {
  const auto next = [&]() -> Result<void> {
    if (line_ == UINT32_MAX)
      return bad_input(file, "the file has too many lines", {}, "fewer than 2^32 lines");
    ++line_;
    return {};
  };
  const auto keep = [&](std::string_view rest) -> Result<void> {
    if (carry_.size() + rest.size() > kMaxLine)
      return bad_input(SourcePos{file, line_ + 1, 0}.text(), "the line is too long", {}, "at most 16 MiB");
    carry_.append(rest);
    return {};
  };
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      WEFT_TRY(keep(text));
      break;
    }
    std::string_view line = text.substr(0, end);
    if (!carry_.empty()) {
      WEFT_TRY(keep(line));
      line = carry_;
    }
    WEFT_TRY(next());
    WEFT_TRY(take(line, line_, true));
    carry_.clear();
    text.remove_prefix(end + 1);
  }
  if (!last || carry_.empty()) return {};
  WEFT_TRY(next());
  const std::string line = std::move(carry_);
  carry_.clear();
  return take(line, line_, false);
}

}  // namespace weft::traces::allprof
