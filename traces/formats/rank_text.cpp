#include "traces/formats/rank_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "core/files/input_file.hpp"
#include "core/source_pos.hpp"
#include "traces/formats/first_bytes.hpp"
#include "traces/formats/liballprof/line.hpp"
#include "traces/formats/ti/line.hpp"
#include "traces/packed/other_trace.hpp"
#include "traces/packed/walk_archive.hpp"

namespace weft::traces {

std::string_view first_line(std::string_view text) {
  text = without_bom(text);
  while (!text.empty()) {
    const std::size_t n = text.find('\n');
    std::string_view line = text.substr(0, n);
    while (!line.empty() && (line.front() == ' ' || line.front() == '\t')) line.remove_prefix(1);
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t' || line.back() == '\r'))
      line.remove_suffix(1);
    if (!line.empty() && line.front() != '#') return line;
    if (n == std::string_view::npos) break;
    text.remove_prefix(n + 1);
  }
  return {};
}

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kChunkBytes = 1u << 20;
constexpr std::size_t kMaxIndexBytes = 8u << 20;

// A line of a rank, not of an index.
bool looks_like_rank_text(std::string_view text) {
  return looks_like_ti_line(text) || allprof::looks_like_liballprof(text);
}

// The first line that says something, of a text that comes in pieces. What was passed over is not looked at again.
class FirstLine {
 public:
  void add(std::string_view text) {
    while (!known_ && !text.empty()) {
      if (line_.empty()) text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
      const std::string_view part = text.substr(0, text.find('\n'));
      line_.append(part.substr(0, kMax - std::min(kMax, line_.size())));
      const bool ended = part.size() < text.size();
      text.remove_prefix(std::min(part.size() + 1, text.size()));
      if (ended) end();
    }
  }
  void end() {
    known_ |= !first_line(line_).empty();
    if (!known_) line_.clear();
  }
  [[nodiscard]] bool known() const { return known_; }
  [[nodiscard]] bool is_action() const { return looks_like_rank_text(line_); }

 private:
  static constexpr std::size_t kMax = 4096;
  std::string line_;
  bool known_ = false;
};

struct FileCloser {
  void operator()(std::FILE* f) const { std::fclose(f); }
};

Result<void> read_plain(const std::string& path, std::size_t part, const RankText::Chunk& chunk) {
  const std::unique_ptr<std::FILE, FileCloser> f(std::fopen(path.c_str(), "rbe"));
  if (!f) return bad_input(path, fmt::format("cannot open: {}", std::strerror(errno)));
  // Not cleared: of a hundred thousand ranks most files are a few lines.
  const auto buffer = std::make_unique_for_overwrite<char[]>(kChunkBytes);
  std::size_t n = 0;
  while ((n = std::fread(buffer.get(), 1, kChunkBytes, f.get())) > 0)
    WEFT_TRY(chunk(part, std::string_view(buffer.get(), n), false));
  if (std::ferror(f.get()) != 0) return bad_input(path, fmt::format("cannot read: {}", std::strerror(errno)));
  return chunk(part, {}, true);
}

// "dir/trace_rank-12.txt", "dir/trace_rank-12.txt.gz" -> prefix "dir/trace_rank-", number 12.
struct Numbered {
  std::string prefix;
  std::uint64_t number;
  std::string suffix;  // without that of packing
};
std::optional<Numbered> numbered(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t begin = slash == std::string::npos ? 0 : slash + 1;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  // A time stamp in front ("179517.70_rank-3.txt") has dots of its own: the extension is the last one.
  std::size_t end = std::min(name.find('.', begin), name.size());
  if (const std::size_t last = name.rfind('.'); last != std::string::npos && last > begin) end = last;
  // Of compressed text the one before it, unless the number is there.
  const std::string_view extension = std::string_view(name).substr(end);
  if (end > begin && !is_digit(name[end - 1]) &&
      std::ranges::find(packing_extensions(), extension) != packing_extensions().end())
    if (const std::size_t before = name.rfind('.', end - 1); before != std::string::npos && before > begin)
      end = before;
  std::size_t digits = end;
  while (digits > begin && is_digit(name[digits - 1])) --digits;
  if (digits == end || end - digits > 9) return std::nullopt;
  std::string suffix = name.substr(end);
  for (const std::string_view packing : packing_extensions())
    if (suffix.ends_with(packing)) {
      suffix.resize(suffix.size() - packing.size());
      break;
    }
  return Numbered{name.substr(0, digits), std::stoull(name.substr(digits, end - digits)), std::move(suffix)};
}

// Finds the one family of numbered names 0..n-1 or 1..n (SMPI writes rank + 1). Returns, by rank, positions
// in `names`. Of several families the one whose names end in "rank", "rank-" or "rank_" and the number is meant.
Result<std::vector<std::size_t>> by_number(const std::string& where, const std::vector<std::string>& names) {
  std::map<std::string, std::map<std::uint64_t, std::size_t>> families;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (const auto n = numbered(names[i])) {
      const auto [held, fresh] = families[n->prefix].emplace(n->number, i);
      if (fresh || names[i].starts_with(names[held->second] + '.'))
        continue;  // text and what it was packed to
      if (!names[held->second].starts_with(names[i] + '.'))
        return bad_input(where, "two files have the same rank number", names[i]);
      held->second = i;
    }
  if (families.size() > 1) {
    std::erase_if(families, [](const auto& f) {
      const std::string& p = f.first;
      return !p.ends_with("rank-") && !p.ends_with("rank") && !p.ends_with("rank_");
    });
  }
  if (families.size() != 1)
    return bad_input(where, "cannot tell which files are the ranks of the trace", {},
                     "an index file, or files named ...rank-0.txt, ...rank-1.txt and so on");
  const auto& family = *families.begin();
  const std::uint64_t base = family.second.begin()->first;
  std::vector<std::size_t> order;
  for (const auto& [number, at] : family.second) {
    const std::uint64_t want = base + order.size();
    if (base > 1 || number != want)
      return bad_input(where, "a rank's file is missing", names[at],
                       fmt::format("a file {}{}", family.first, base > 1 ? 0 : want));
    order.push_back(at);
  }
  return order;
}

// A line of an index that is no comment.
struct IndexLine {
  std::string name;
  std::uint32_t line = 0, column = 0;  // where it stands
};
std::vector<IndexLine> index_lines(std::string_view text) {
  std::vector<IndexLine> out;
  text = without_bom(text);
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::size_t n = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, n);
    const std::size_t begin = std::min(line.find_first_not_of(" \t\r"), line.size());
    line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
    line.remove_prefix(std::min(begin, line.size()));
    if (!line.empty() && line.front() != '#')
      out.push_back({std::string(line), number, static_cast<std::uint32_t>(begin + 1)});
    text.remove_prefix(std::min(n + 1, text.size()));
  }
  return out;
}

// The file that a line of an index means: relative to the index, to the working directory, or to the index's
// parent (SimGrid's own examples are written that way), or beside the index.
std::optional<std::string> resolve(const std::string& index, const std::string& line) {
  const fs::path dir = fs::path(index).parent_path();
  std::error_code ec;
  for (const fs::path& p : {dir / line, fs::path(line), dir / ".." / line,
                            dir / fs::path(line).parent_path().filename() / fs::path(line).filename(),
                            dir / fs::path(line).filename()})
    if (fs::is_regular_file(p, ec)) return p.string();
  return std::nullopt;
}

// Of the files `names` of a folder or an archive: which are the ranks.
struct RankFiles {
  std::vector<std::size_t> order;  // by rank, positions in `names`
  std::vector<bool> used;          // of all `names`: a rank, or the index that told them
};
// An index whose every line names a file decides, else the numbers in the names. Files that are numbered in full are no index,
// but for the first: there may be very many, and all that is in them is read later. `index_text`: of what may be one; empty =
// not. `find`: the name of the file that a line of an index means; one that is none of `names` is added there.
Result<RankFiles> rank_files(
    const std::string& where, std::vector<std::string>& names,
    const std::function<std::string_view(std::size_t)>& index_text,
    const std::function<std::optional<std::string>(std::size_t index, const std::string& line)>& find) {
  auto by_numbers = by_number(where, names);
  std::vector<bool> is_numbered(names.size());
  if (by_numbers)
    for (std::size_t r = 1; r < by_numbers->size(); ++r) is_numbered[(*by_numbers)[r]] = true;
  std::vector<std::string> told;
  std::size_t index = 0;
  for (std::size_t i = 0; i < names.size() && told.empty(); ++i) {
    if (is_numbered[i]) continue;
    index = i;
    for (const IndexLine& line : index_lines(index_text(i))) {
      auto file = find(i, line.name);
      if (!file) {
        told.clear();
        break;
      }
      told.push_back(*std::move(file));
    }
  }
  RankFiles ranks;
  if (told.empty()) {
    if (!by_numbers) return by_numbers.error();
    ranks.order = *std::move(by_numbers);
    ranks.used.resize(names.size());
    for (const std::size_t i : ranks.order) ranks.used[i] = true;
    return ranks;
  }
  std::map<std::string, std::size_t> at;
  for (std::size_t i = 0; i < names.size(); ++i) at.emplace(names[i], i);
  ranks.used.resize(names.size());
  ranks.used[index] = true;
  for (std::string& file : told) {
    const auto [held, fresh] = at.emplace(file, names.size());
    if (fresh) {
      names.push_back(std::move(file));
      ranks.used.push_back(false);
    }
    if (ranks.used[held->second]) return bad_input(where, "the index names a file twice", held->first);
    ranks.used[held->second] = true;
    ranks.order.push_back(held->second);
  }
  return ranks;
}

// The text of a file of a folder that may be an index: its first line names a file. Else nothing.
std::string index_text_of(const std::string& path) {
  const auto head = first_bytes(path);
  if (!head || looks_compressed_or_tar(*head) || looks_like_rank_text(*head)) return {};
  const std::string_view line = first_line(*head);
  if (line.empty() || head->find('\0') != std::string::npos || !resolve(path, std::string(line))) return {};
  auto text = read_text(path, kMaxIndexBytes);
  return text ? *std::move(text) : std::string();
}

// The same of the files of a folder; those that an index names may stand elsewhere.
Result<RankFiles> rank_files_in_folder(const std::string& folder, std::vector<std::string>& names) {
  std::string text;
  return rank_files(
      folder, names,
      [&](std::size_t i) {
        text = index_text_of(names[i]);
        return std::string_view(text);
      },
      [&](std::size_t index, const std::string& line) {
        auto file = resolve(names[index], line);
        // One of this folder has one name, by whichever way the line goes there.
        std::error_code ec;
        if (file && fs::equivalent(fs::absolute(*file, ec).parent_path(), folder, ec))
          file = (fs::path(folder) / fs::path(*file).filename()).string();
        return file;
      });
}

}  // namespace

bool looks_like_index(const std::string& path, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) return false;
  return std::ranges::any_of(index_lines(text),
                             [&](const IndexLine& l) { return resolve(path, l.name).has_value(); });
}

Result<RankText> RankText::open(const std::vector<std::string>& paths) {
  WEFT_CHECK(!paths.empty(), "a trace needs a path");
  RankText in;
  const auto add_file = [&](const std::string& p) { in.parts_.push_back({p, p, {}, {}}); };
  if (paths.size() > 1) {
    for (const auto& p : paths) add_file(p);
    return in;
  }
  const std::string& path = paths[0];
  std::error_code ec;
  if (fs::is_directory(path, ec)) {
    std::vector<std::string> names;
    for (const auto& e : fs::directory_iterator(path, ec))
      if (e.is_regular_file(ec)) names.push_back(e.path().string());
    std::ranges::sort(names);
    WEFT_ASSIGN(const RankFiles ranks, rank_files_in_folder(path, names));
    for (const std::size_t i : ranks.order) add_file(names[i]);
    for (std::size_t i = 0; i < names.size(); ++i)
      if (!ranks.used[i]) in.ignored_.push_back(names[i]);
    in.shared_ = in.parts_.size() == 1;
    return in;
  }
  WEFT_ASSIGN(const std::string head, first_bytes(path));
  if (!looks_compressed_or_tar(head)) {
    if (looks_like_rank_text(head) || first_line(head).empty()) {
      in.shared_ = true;
      add_file(path);
      return in;
    }
    WEFT_ASSIGN(const std::string text, read_text(path, kMaxIndexBytes));
    const auto lines = index_lines(text);
    for (const IndexLine& l : lines) {
      const auto file = resolve(path, l.name);
      if (!file)
        return bad_input(SourcePos{path, l.line, l.column}.text(),
                         "neither a TI action nor the name of a file", l.name.substr(0, 200),
                         "\"RANK ACTION ...\" or one file name a line");
      add_file(*file);
    }
    in.shared_ = lines.size() == 1;
    return in;
  }
  // An archive, or one compressed text.
  struct Member {
    std::string name;
    std::string text;
    FirstLine first;
    bool whole = true;  // text is all of it
    bool is_index = false;
  };
  std::deque<Member> members;  // may be many: a vector that grows holds them twice
  std::uint64_t kept = 0;
  bool keep = true, actions = false;
  OtherTrace other(path, head);
  WEFT_TRY(walk_archive(
      path,
      [&](const std::string& name) {
        members.push_back({name, {}, {}, true, false});
        other.begin(name);
        return true;
      },
      [&](std::string_view data, bool last) -> Result<void> {
        Member& m = members.back();
        // Without room to keep everything, an index and enough to tell a rank's file from it are still kept.
        m.first.add(data);
        if (last) m.first.end();
        actions = actions || m.first.is_action();
        if (!actions) other.add(data, last);
        if (other.found() && m.name.empty()) return *other.found();
        const bool candidate = m.whole && m.first.known() && !m.first.is_action() &&
                               m.text.size() + data.size() < kMaxIndexBytes;
        keep = keep && kept + data.size() <= kKeepText;
        if (keep || candidate) {
          // Once instead of by doubling: a string that grows is there twice. What is not written takes no memory.
          if (m.text.size() + data.size() > std::max(m.text.capacity(), kChunkBytes))
            m.text.reserve(std::max<std::size_t>(kKeepText, kMaxIndexBytes) + kChunkBytes);
          m.text.append(data);
          kept += data.size();
        } else if (!data.empty()) {
          m.whole = false;
          m.text = std::string();
        }
        if (last) m.is_index = m.whole && !m.first.is_action();
        return {};
      }));
  if (members.empty()) return bad_input(path, "the archive holds no file");
  if (!actions && other.found()) return *other.found();
  if (!keep)
    for (Member& m : members)
      if (!m.is_index) m.text = std::string();
  in.kept_ = keep;
  const auto add_member = [&](Member& m) {
    in.parts_.push_back({m.name.empty() ? path : path + "!" + m.name, path, m.name,
                         keep ? std::move(m.text) : std::string()});
  };
  if (members.size() == 1) {
    in.shared_ = true;
    add_member(members[0]);
    return in;
  }
  std::map<std::string, std::size_t> at;
  std::vector<std::string> names;
  names.reserve(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    names.push_back(members[i].name);
    at.emplace(members[i].name, i);
    at.emplace(fs::path(members[i].name).filename().string(), i);
  }
  WEFT_ASSIGN(const RankFiles ranks,
              rank_files(
                  path, names,
                  [&](std::size_t i) {
                    return members[i].is_index ? std::string_view(members[i].text) : std::string_view();
                  },
                  [&](std::size_t, const std::string& line) -> std::optional<std::string> {
                    auto found = at.find(line);
                    if (found == at.end()) found = at.find(fs::path(line).filename().string());
                    if (found == at.end()) return std::nullopt;
                    return names[found->second];
                  }));
  for (const std::size_t i : ranks.order) add_member(members[i]);
  for (std::size_t i = 0; i < members.size(); ++i)
    if (!ranks.used[i]) in.ignored_.push_back(path + "!" + members[i].name);
  in.shared_ = in.parts_.size() == 1;
  return in;
}

Result<RankText> RankText::open_family(const std::string& file) {
  const auto own = numbered(file);
  if (!own) return bad_input(file, "the file's name has no rank number");
  const fs::path parent = fs::path(file).parent_path();
  std::vector<std::string> names;
  std::error_code ec;
  for (const auto& e : fs::directory_iterator(parent.empty() ? "." : parent, ec)) {
    std::string name = (parent / e.path().filename()).string();
    const auto other = numbered(name);
    if (e.is_regular_file(ec) && other && other->prefix == own->prefix && other->suffix == own->suffix)
      names.push_back(std::move(name));
  }
  std::ranges::sort(names);
  WEFT_ASSIGN(const auto order, by_number(file, names));
  RankText in;
  for (const std::size_t i : order) in.parts_.push_back({names[i], names[i], {}, {}});
  in.shared_ = in.parts_.size() == 1;
  return in;
}

Result<void> RankText::read(const Chunk& to) const {
  // A byte order mark is no text.
  std::size_t begun = parts_.size();
  const Chunk chunk = [&](std::size_t part, std::string_view text, bool last) {
    if (!text.empty() && begun != part) {
      begun = part;
      text = without_bom(text);
    }
    return to(part, text, last);
  };
  if (kept_) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      WEFT_TRY(chunk(i, parts_[i].text, false));
      WEFT_TRY(chunk(i, {}, true));
    }
    return {};
  }
  if (!parts_.empty() && !parts_[0].member.empty()) {
    std::map<std::string, std::size_t> wanted;
    for (std::size_t i = 0; i < parts_.size(); ++i) wanted.emplace(parts_[i].member, i);
    std::size_t part = 0;
    return walk_archive(
        parts_[0].path,
        [&](const std::string& name) {
          const auto it = wanted.find(name);
          if (it == wanted.end()) return false;
          part = it->second;
          return true;
        },
        [&](std::string_view data, bool last) { return chunk(part, data, last); });
  }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    WEFT_ASSIGN(const std::string head, first_bytes(parts_[i].path));
    if (!looks_compressed_or_tar(head)) {
      WEFT_TRY(read_plain(parts_[i].path, i, chunk));
      continue;
    }
    bool archive = false;
    OtherTrace other(parts_[i].path, head);
    WEFT_TRY(walk_archive(
        parts_[i].path,
        [&](const std::string& name) {
          archive |= !name.empty();
          return name.empty();
        },
        [&](std::string_view data, bool last) -> Result<void> {
          other.add(data, true);  // the first piece has to do: its reader comes next
          if (other.found()) return *other.found();
          return chunk(i, data, last);
        }));
    if (archive)
      return bad_input(parts_[i].path, "an archive cannot be one of several paths", {},
                       "the text of one rank");
  }
  return {};
}

}  // namespace weft::traces
