// Which reader opens a trace: the format's name, or the first bytes of the first path.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "traces/formats/ti/reader.hpp"
#include "traces/trace.hpp"
#include "traces/weft/reader.hpp"

namespace weft::traces {
namespace {

std::string known_formats() {
  std::string all = "weft";
#define WEFT_TRACE_FORMAT(id, name, what) all += ", " name;
#define WEFT_TRACE_FORMAT_LATER(name, magic, what) all += ", " name " (not supported in this version)";
#include "traces/formats.def"
#undef WEFT_TRACE_FORMAT
#undef WEFT_TRACE_FORMAT_LATER
  return all;
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

Result<std::string> first_bytes(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0)
    return bad_input(path, fmt::format("cannot open: {}", std::strerror(errno)), {}, "a trace");
  std::string b;
  if (S_ISDIR(st.st_mode)) return b;
  std::FILE* f = std::fopen(path.c_str(), "rbe");
  if (f == nullptr)
    return bad_input(path, fmt::format("cannot open: {}", std::strerror(errno)), {}, "a trace");
  b.resize(4096);
  b.resize(std::fread(b.data(), 1, b.size(), f));
  std::fclose(f);
  if (b.empty()) return bad_input(path, "the file is empty", {}, "a trace");
  return b;
}

Result<std::unique_ptr<TraceReader>> open_one_weft(const std::vector<std::string>& paths,
                                                   const OpenOptions& options) {
  if (paths.size() > 1)
    return usage_error("a .weft trace is one file", fmt::format("{} paths", paths.size()));
  return open_weft(paths[0], {options.allow_truncated});
}

}  // namespace

Result<std::unique_ptr<TraceReader>> open_trace_with(const std::vector<std::string>& paths,
                                                     const OpenOptions& options) {
  using namespace std::string_view_literals;
  if (paths.empty()) return usage_error("no trace given");
  for (const std::string& path : paths) WEFT_TRY(may_be_read_twice(path));
  if (options.from == "weft") return open_one_weft(paths, options);
#define WEFT_TRACE_FORMAT(id, name, what) \
  if (options.from == name) return open_##id(paths);
#define WEFT_TRACE_FORMAT_LATER(name, magic, what) \
  if (options.from == name) return not_supported("trace format " name " (" what ")", "weft or ti");
#include "traces/formats.def"
#undef WEFT_TRACE_FORMAT
#undef WEFT_TRACE_FORMAT_LATER
  if (!options.from.empty())
    return usage_error("unknown trace format", options.from, "one of " + known_formats());

  WEFT_ASSIGN(const std::string head, first_bytes(paths[0]));
  if (sniff_weft(head)) return open_one_weft(paths, options);
#define WEFT_TRACE_FORMAT(id, name, what)
#define WEFT_TRACE_FORMAT_LATER(name, magic, what)                             \
  if (std::string_view(head).starts_with(magic##sv)) {                         \
    Error e = not_supported("trace format " name " (" what ")", "weft or ti"); \
    e.where = paths[0];                                                        \
    return e;                                                                  \
  }
#include "traces/formats.def"
#undef WEFT_TRACE_FORMAT
#undef WEFT_TRACE_FORMAT_LATER
#define WEFT_TRACE_FORMAT(id, name, what) \
  if (sniff_##id(paths[0], head)) return open_##id(paths);
#define WEFT_TRACE_FORMAT_LATER(name, magic, what)
#include "traces/formats.def"
#undef WEFT_TRACE_FORMAT
#undef WEFT_TRACE_FORMAT_LATER
  std::string shown;
  for (const char c : head.substr(0, 16)) shown += c >= ' ' && c <= '~' ? c : '.';
  return bad_input(paths[0], "not a trace of a known format", shown, known_formats());
}

Result<std::unique_ptr<TraceReader>> open_trace(const std::vector<std::string>& paths,
                                                const std::string& from) {
  return open_trace_with(paths, {from, false});
}

}  // namespace weft::traces
