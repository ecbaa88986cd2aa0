// Which reader opens a trace: the format's name, or the first bytes of the first path.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "traces/formats.hpp"
#include "traces/formats/first_bytes.hpp"
#include "traces/formats/ti/line.hpp"
#include "traces/packed/other_trace.hpp"

namespace weft::traces {
namespace {

// A row of formats.def as code. A format that is only recognised has first bytes and no functions.
struct Format {
  std::string_view name;
  std::string_view what;
  std::string_view magic;
  bool (*sniff)(const std::string& path, std::string_view first_bytes);
  std::vector<std::string> (*files)(const std::vector<std::string>& paths);
  Result<std::unique_ptr<TraceReader>> (*open)(const std::vector<std::string>& paths,
                                               const OpenOptions& options);
};

constexpr Format kFormats[] = {
#define WEFT_TRACE_FORMAT(id, name, what) {name, what, {}, sniff_##id, files_##id, open_##id},
#define WEFT_TRACE_FORMAT_LATER(name, magic, what) {name, what, magic, nullptr, nullptr, nullptr},
#include "traces/formats.def"
#undef WEFT_TRACE_FORMAT
#undef WEFT_TRACE_FORMAT_LATER
};

Error not_read(const Format& f) { return format_not_read({f.name, f.what, false}); }

// A format that is not read and told by its first bytes.
const Format* recognised(std::string_view head) {
  for (const Format& f : kFormats)
    if (f.open == nullptr && head.starts_with(f.magic)) return &f;
  return nullptr;
}

// First those that are told by their first bytes alone.
const Format* sniffed(const std::string& path, std::string_view head, std::string_view other_than = {}) {
  if (const Format* f = recognised(head)) return f;
  for (const Format& f : kFormats)
    if (f.open != nullptr && f.name != other_than && f.sniff(path, head)) return &f;
  return nullptr;
}

// A trace is read more than once: to count, to check, to replay. What gives its bytes only once is refused by name.
Result<void> may_be_read_twice(const std::string& path) {
  struct stat st {};
  const bool known = ::stat(path.c_str(), &st) == 0;
  if (path == "-" || (known && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))) {
    Error e = not_supported("a trace that comes through a pipe", "a file: a trace is read more than once");
    e.where = path;
    return e;
  }
  if (known && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
    return bad_input(path, "a device is no trace", {}, "a file");
  return {};
}

// What is packed beside a path where nothing is: a user may have named the file as it was before it was packed.
std::optional<Error> packed_beside(const std::string& path) {
  std::error_code ec;
  return std::filesystem::exists(path, ec) ? std::nullopt : packed_trace_of(path);
}

// None of a directory.
Result<std::string> head_of(const std::string& path) {
  struct stat st {};
  std::string head;
  if (::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) return head;
  auto read = first_bytes(path);
  if (!read) {
    if (auto packed = packed_beside(path)) return *std::move(packed);
    read.error().expected = "a trace";
    return read;
  }
  if (read->empty()) return bad_input(path, "the file is empty", {}, "a trace");
  return read;
}

// What is packed in a file that is none of its reader's, beside one that is not there, or in a folder of which the
// reader says that no trace is there.
std::optional<Error> packed_in(const std::string& path, const Format& f, const Error& error) {
  namespace fs = std::filesystem;
  std::error_code ec;
  if (fs::is_regular_file(path, ec)) {
    const auto head = first_bytes(path);
    return head && !f.sniff(path, *head) ? packed_trace(path) : std::nullopt;
  }
  if (auto found = packed_beside(path)) return found;
  std::vector<std::string> files;
  if (error.where == path)
    for (const auto& e : fs::directory_iterator(path, ec))
      if (e.is_regular_file(ec)) files.push_back(e.path().string());
  std::ranges::sort(files);
  for (const std::string& file : files)
    if (auto found = packed_trace(file)) return found;
  return std::nullopt;
}

// What a folder holds in place of TI text, which is what every folder is taken for that nothing else is known by.
std::optional<Error> recognised_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ec;
  for (const auto& e : std::filesystem::directory_iterator(folder, ec))
    if (e.is_regular_file(ec)) files.push_back(e.path().string());
  std::ranges::sort(files);
  std::optional<Error> found;
  for (std::string& file : files) {
    const auto head = first_bytes(file);
    if (!head) continue;
    if (looks_like_ti_line(*head) || looks_compressed_or_tar(*head)) return std::nullopt;
    if (const Format* f = found ? nullptr : recognised(*head)) {
      found = not_read(*f);
      found->where = std::move(file);
    }
  }
  return found;
}

Result<std::unique_ptr<TraceReader>> open_as(const Format& f, const std::vector<std::string>& paths,
                                             const OpenOptions& options) {
  if (options.one_order && f.name != "goal")
    return usage_error("--one-order orders the operations of GOAL schedules", std::string(f.name), "goal");
  auto trace = f.open(paths, options);
  if (trace) return trace;
  for (const std::string& path : paths)
    if (auto other = packed_in(path, f, trace.error())) return *std::move(other);
  if (f.open == open_ti)
    for (const std::string& path : paths)
      if (auto other = recognised_in(path)) return *std::move(other);
  return trace;
}

}  // namespace

std::string_view sniffed_format(const std::string& path, std::string_view first_bytes,
                                std::string_view other_than) {
  const Format* f = sniffed(path, first_bytes, other_than);
  return f != nullptr ? f->name : std::string_view();
}

Result<std::unique_ptr<TraceReader>> open_trace_with(const std::vector<std::string>& paths,
                                                     const OpenOptions& options) {
  if (paths.empty()) return usage_error("no trace given");
  for (const std::string& path : paths) WEFT_TRY(may_be_read_twice(path));
  if (!options.from.empty()) {
    for (const Format& f : kFormats)
      if (options.from == f.name) {
        if (f.open == nullptr) return not_read(f);
        return open_as(f, paths, options);
      }
    return usage_error("unknown trace format", options.from, expected_names(trace_formats(), options.from));
  }

  WEFT_ASSIGN(const std::string head, head_of(paths[0]));
  if (const Format* f = sniffed(paths[0], head)) {
    if (f->open != nullptr) return open_as(*f, paths, options);
    Error e = not_read(*f);
    e.where = paths[0];
    return e;
  }
  std::string shown;
  for (const char c : head.substr(0, 16)) shown += c >= ' ' && c <= '~' ? c : '.';
  return bad_input(paths[0], "not a trace of a known format", shown, known_names(trace_formats()));
}

Result<std::unique_ptr<TraceReader>> open_trace(const std::vector<std::string>& paths,
                                                const std::string& from) {
  return open_trace_with(paths, {from, false});
}

std::vector<std::string> trace_files(const std::vector<std::string>& paths, const std::string& from) {
  std::vector<std::string> out = paths;
  if (paths.empty() || std::ranges::any_of(paths, [](const auto& p) { return !may_be_read_twice(p); }))
    return out;
  const Format* format = nullptr;
  if (from.empty()) {
    if (const auto head = head_of(paths[0])) format = sniffed(paths[0], *head);
  } else {
    const auto* named = std::ranges::find(kFormats, from, &Format::name);
    if (named != std::end(kFormats)) format = named;
  }
  if (format == nullptr || format->files == nullptr) return out;
  for (std::string& file : format->files(paths)) out.push_back(std::move(file));
  return out;
}

}  // namespace weft::traces
