#include "cli/outputs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <vector>

#include "cli/flags/journal_flags.hpp"
#include "predict/journal/journal.hpp"
#include "topology/platform/params.hpp"

namespace weft::cli {

void Outputs::add(std::string flag, const std::string* path, Opened opened) {
  outputs_.push_back({std::move(flag), path, opened, {}});
}

namespace {

// What of `word` may name a file: "graph:file=net.dot,bw=1GB/s" has net.dot.
std::vector<std::string_view> names_in(std::string_view word) {
  std::vector<std::string_view> names{word};
  for (const std::string_view piece : topology::split(word, ',')) {
    names.push_back(piece);
    for (std::size_t at = 0; (at = piece.find_first_of("=:", at)) != std::string_view::npos;)
      names.push_back(piece.substr(++at));
  }
  return names;
}

// Identities of the files that a journal in `folder` has, and of `output` if it may be one.
std::vector<std::string> files_of_journal(const std::string& folder, const std::string& output) {
  std::vector<std::string> out;
  const auto add = [&](const std::filesystem::path& name) {
    if (predict::Journal::owns(name.string()))
      out.push_back(output_identity((std::filesystem::path(folder) / name).string()));
  };
  add(std::filesystem::path(output).filename());
  std::error_code none;
  for (const auto& e : std::filesystem::directory_iterator(folder, none)) add(e.path().filename());
  return out;
}

}  // namespace

Result<void> Outputs::open(std::span<const Given> given) {
  std::map<std::string, std::string> taken;  // file -> flag
  for (const Output& o : outputs_) {
    if (o.path->empty()) continue;
    const auto [it, fresh] = taken.emplace(output_identity(*o.path), o.flag);
    if (!fresh)
      return usage_error(fmt::format("{} and {} name one file", it->second, o.flag), *o.path,
                         "a file for each");
    take_standard_output_ = take_standard_output_ || is_standard_output(*o.path);
  }
  for (const auto& [option, word] : given)
    for (const std::string_view name : names_in(word)) {
      std::error_code none;
      if (taken.empty() || !std::filesystem::is_regular_file(name, none)) continue;
      if (const auto it = taken.find(output_identity(std::string(name))); it != taken.end())
        return usage_error(fmt::format("{} would replace an input, {}", it->second, option),
                           std::string(name), "another file");
    }
  for (const auto& [option, folder] : given) {
    if (option != kJournalFlag) continue;
    for (const Output& o : outputs_) {
      if (o.path->empty()) continue;
      const auto files = files_of_journal(folder, *o.path);
      if (std::ranges::find(files, output_identity(*o.path)) != files.end())
        return usage_error(fmt::format("{} would replace a file of the journal", o.flag), *o.path,
                           "another file");
    }
  }
  for (Output& o : outputs_) {
    if (o.path->empty() || o.opened == Opened::kByVerb) continue;
    WEFT_ASSIGN(o.file, AtomicFile::open(*o.path));
  }
  return {};
}

Result<void> Outputs::write(const std::string& flag, std::string_view text) {
  return write_pieces(flag, [text](const TextSink& out) -> Result<void> {
    out(text);
    return {};
  });
}

Result<void> Outputs::write_pieces(const std::string& flag,
                                   const std::function<Result<void>(const TextSink&)>& make) {
  for (Output& o : outputs_) {
    if (o.flag != flag || !o.file) continue;
    WEFT_TRY(make([&](std::string_view piece) { o.file->write(piece); }));
    WEFT_TRY(o.file->commit());
    o.file.reset();
  }
  return {};
}

bool Outputs::has(std::string_view flag) const {
  return std::ranges::any_of(outputs_, [&](const Output& o) {
    return o.flag.starts_with(flag) && (o.flag.size() == flag.size() || o.flag[flag.size()] == ' ');
  });
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
