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

// Whether `text` begins with comments or blank lines, and does not hold the whole of the line behind them.
bool ends_within_comments(std::string_view text) {
  text = without_bom(text);
  for (bool any = false;; any = true) {
    const std::size_t blank = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    text.remove_prefix(blank);
    const bool block = text.starts_with("/*");
    if (!block && !text.starts_with("//") && !text.starts_with('#'))
      return (any || blank > 0) && text.size() < FirstBytes::kLeast &&
             text.find('\n') == std::string_view::npos;
    const std::size_t end = text.find(block ? "*/" : "\n", block ? 2 : 0);
    if (end == std::string_view::npos) return true;
    text.remove_prefix(end + (block ? 2 : 1));
  }
}

}  // namespace

void FirstBytes::add(std::string_view more) {
  while (wanted() > 0 && !more.empty()) {
    const std::string_view part = more.substr(0, wanted());
    bytes_.append(part);
    more.remove_prefix(part.size());
    if (wanted() == 0 && ends_within_comments(bytes_)) target_ = std::min(2 * target_, kMost);
  }
}

Result<std::string> first_bytes(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> f(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!f) return bad_input(path, fmt::format("cannot open: {}", std::strerror(errno)));
  FirstBytes first;
  for (std::string piece; first.wanted() > 0; first.add(piece)) {
    piece.resize(first.wanted());
    piece.resize(std::fread(piece.data(), 1, piece.size(), f.get()));
    if (std::ferror(f.get()) != 0)
      return bad_input(path, fmt::format("cannot read: {}", std::strerror(errno)));
    if (piece.empty()) break;
  }
  return std::move(first).bytes();
}

}  // namespace weft::traces
