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

// A row of formats.def as code.
struct Format {
  std::string_view name;
  bool packed;
  bool (*sniff)(const std::string& path, std::string_view first_bytes);
  std::vector<std::string> (*files)(const std::vector<std::string>& paths);
  Result<std::unique_ptr<TraceReader>> (*open)(const std::vector<std::string>& paths,
                                               const OpenOptions& options);
};

constexpr Format kFormats[] = {
#define WEFT_TRACE_FORMAT(id, name, packed, what) {name, packed, sniff_##id, files_##id, open_##id},
#include "traces/formats.def"
#undef WEFT_TRACE_FORMAT
};

const Format* sniffed(const std::string& path, std::string_view head, std::string_view other_than = {}) {
  for (const Format& f : kFormats)
    if (f.name != other_than && f.sniff(path, head)) return &f;
  return nullptr;
}

// The format of a file: of a packed one that of what it holds, if its reader takes it so. nullptr: none is known.
Result<const Format*> format_of(const std::string& path, std::string_view head) {
  if (const Packing* const packing = packing_of(head)) {
    WEFT_ASSIGN(const std::string inside, first_bytes_unpacked(path));
    std::string unpacked = path;  // its name
    if (path.ends_with(packing->extension)) unpacked.resize(path.size() - packing->extension.size());
    for (const Format& f : kFormats)
      if (f.packed && !inside.empty() && f.sniff(unpacked, inside)) return &f;
  }
  return sniffed(path, head);
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
  if (std::filesystem::exists(path, ec)) return std::nullopt;
  if (auto other = packed_trace_of(path)) return other;
  for (const std::string_view extension : packing_extensions())
    if (const std::string packed = path + std::string(extension); std::filesystem::exists(packed, ec))
      return bad_input(path, "there is no such file", {}, packed);
  return std::nullopt;
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

// That a folder, which is taken for TI text where nothing else is known by it, holds a trace of one file instead.
std::optional<Error> trace_file_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ec;
  for (const auto& e : std::filesystem::directory_iterator(folder, ec))
    if (e.is_regular_file(ec)) files.push_back(e.path().string());
  std::ranges::sort(files);
  std::optional<Error> found;
  for (const std::string& file : files) {
    const auto head = first_bytes(file);
    if (!head) continue;
    if (looks_like_ti_line(*head)) return std::nullopt;
    const Format* f = sniffed(file, *head, "ti");
    if (looks_compressed_or_tar(*head)) {
      // One of those that the reader of TI text would take.
      const auto packed = format_of(file, *head);
      if (!packed || *packed == nullptr || (*packed)->open == open_ti || (*packed)->open == open_liballprof)
        return std::nullopt;
      f = *packed;
    }
    if (f != nullptr && !found)
      found = bad_input(folder, fmt::format("a folder that holds a {} trace, which is one file", f->name),
                        file, "the file");
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
      if (auto other = trace_file_in(path)) return *std::move(other);
  return trace;
}

}  // namespace

std::string_view sniffed_format(const std::string& path, std::string_view first_bytes,
                                std::string_view other_than) {
  const Format* f = sniffed(path, first_bytes, other_than);
  return f != nullptr ? f->name : std::string_view();
}

bool reads_packed(std::string_view format) {
  const auto* const f = std::ranges::find(kFormats, format, &Format::name);
  return f != std::end(kFormats) && f->packed;
}

Result<std::unique_ptr<TraceReader>> open_trace_with(const std::vector<std::string>& paths,
                                                     const OpenOptions& options) {
  if (paths.empty()) return usage_error("no trace given");
  for (const std::string& path : paths) WEFT_TRY(may_be_read_twice(path));
  if (!options.from.empty()) {
    for (const Format& f : kFormats)
      if (options.from == f.name) return open_as(f, paths, options);
    return usage_error("unknown trace format", options.from, expected_names(trace_formats(), options.from));
  }

  WEFT_ASSIGN(const std::string head, head_of(paths[0]));
  WEFT_ASSIGN(const Format* const format, format_of(paths[0], head));
  if (format != nullptr) return open_as(*format, paths, options);
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
    if (const auto head = head_of(paths[0]))
      if (const auto found = format_of(paths[0], *head)) format = *found;
  } else {
    const auto* named = std::ranges::find(kFormats, from, &Format::name);
    if (named != std::end(kFormats)) format = named;
  }
  if (format == nullptr) return out;
  for (std::string& file : format->files(paths)) out.push_back(std::move(file));
  return out;
}

}  // namespace weft::traces
