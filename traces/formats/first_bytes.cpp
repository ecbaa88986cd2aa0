#include "traces/formats/first_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include "core/files/input_file.hpp"

namespace weft::traces {
namespace {

constexpr std::size_t kFirstBytes = 4096;
constexpr std::size_t kMostFirstBytes = 8u << 20;

// Whether `text` begins with comments or blank lines, and does not hold the whole of the line behind them.
bool ends_within_comments(std::string_view text) {
  text = without_bom(text);
  for (bool any = false;; any = true) {
    const std::size_t blank = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    text.remove_prefix(blank);
    const bool block = text.starts_with("/*");
    if (!block && !text.starts_with("//") && !text.starts_with('#'))
      return (any || blank > 0) && text.size() < kFirstBytes && text.find('\n') == std::string_view::npos;
    const std::size_t end = text.find(block ? "*/" : "\n", block ? 2 : 0);
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + (block ? 2 : 1));
  }
}

}  // namespace

Result<std::string> first_bytes(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> f(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!f) return bad_input(path, fmt::format("cannot open: {}", std::strerror(errno)));
  std::string b;
  for (std::size_t more = kFirstBytes; more > 0;
       more = ends_within_comments(b) ? std::min(b.size(), kMostFirstBytes - b.size()) : 0) {
    const std::size_t before = b.size();
    b.resize(before + more);
    b.resize(before + std::fread(b.data() + before, 1, more, f.get()));
    if (std::ferror(f.get()) != 0)
      return bad_input(path, fmt::format("cannot read: {}", std::strerror(errno)));
    if (b.size() < before + more) break;
  }
  return b;
}

}  // namespace weft::traces
