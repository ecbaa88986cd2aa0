#include "cli/outputs.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>

namespace weft::cli {

void Outputs::add(std::string flag, const std::string* path, Opened opened) {
  outputs_.push_back({std::move(flag), path, opened, {}});
}

Result<void> Outputs::open() {
  std::map<std::string, std::string> taken;  // file -> flag
  for (const Output& o : outputs_) {
    if (o.path->empty()) continue;
    const auto [it, fresh] = taken.emplace(output_identity(*o.path), o.flag);
    if (!fresh)
      return usage_error(fmt::format("{} and {} name one file", it->second, o.flag), *o.path,
                         "a file for each");
    take_standard_output_ = take_standard_output_ || is_standard_output(*o.path);
  }
  for (Output& o : outputs_) {
    if (o.path->empty() || o.opened == Opened::kByVerb) continue;
    WEFT_ASSIGN(o.file, AtomicFile::open(*o.path));
  }
  return {};
}

Result<void> Outputs::write(const std::string& flag, std::string_view text) {
  for (Output& o : outputs_) {
    if (o.flag != flag || !o.file) continue;
    o.file->write(text);
    WEFT_TRY(o.file->commit());
    o.file.reset();
  }
  return {};
}

void Outputs::discard() {
  for (Output& o : outputs_) o.file.reset();
}

void Outputs::print(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && print_error_ == 0)
    print_error_ = errno != 0 ? errno : EIO;
}

Result<void> Outputs::finish() {
  errno = 0;
  if (std::fflush(stdout) != 0 && print_error_ == 0) print_error_ = errno != 0 ? errno : EIO;
  if (print_error_ == 0) return {};
  return bad_input("stdout", fmt::format("cannot write: {}", std::strerror(print_error_)));
}

}  // namespace weft::cli
