#include "traces/packed/other_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "traces/formats.hpp"
#include "traces/formats/liballprof/line.hpp"
#include "traces/formats/ti/line.hpp"

namespace weft::traces {

void OtherTrace::begin(const std::string& member) {
  member_ = member;
  first_ = {};
  looked_ = false;
}

void OtherTrace::add(std::string_view data, bool last) {
  if (looked_) return;
  first_.add(data);
  if (first_.wanted() > 0 && !last) return;
  looked_ = true;
  if (looks_like_ti_line(first_.bytes()) || allprof::looks_like_liballprof(first_.bytes())) ti_ = true;
  if (found_ || ti_ || first_.bytes().empty()) return;
  std::string name = member_.empty() ? path_ : path_ + "!" + member_;
  const bool compressed = member_.empty() && packing_ != nullptr;
  std::string unpacked = name;  // its name
  if (compressed && name.ends_with(packing_->extension))
    unpacked.resize(name.size() - packing_->extension.size());
  const std::string_view format = sniffed_format(unpacked, first_.bytes(), "ti");
  if (format.empty() || (compressed && reads_packed(format))) return;
  found_ = not_supported(
      fmt::format("a packed {} trace", format),
      fmt::format("the trace, unpacked with \"{}\"", compressed ? packing_->unpack : "tar -xf"));
  found_->where = std::move(name);
}

Result<std::string> first_bytes_unpacked(const std::string& path) {
  FirstBytes first;
  bool archive = false;
  const Result<void> walked = walk_archive(
      path,
      [&](const std::string& member) {
        archive = archive || !member.empty();
        return true;
      },
      [&](std::string_view data, bool /*last*/) -> Result<void> {
        if (!archive) first.add(data);
        if (archive || first.wanted() == 0) return bad_input(path, "enough was seen");
        return {};
      });
  if (archive) return std::string();
  if (!walked && first.wanted() > 0) return walked.error();
  return std::move(first).bytes();
}

std::optional<Error> packed_trace(const std::string& path) {
  const Result<std::string> head = first_bytes(path);
  if (!head || !looks_compressed_or_tar(*head)) return std::nullopt;
  OtherTrace other(path, *head);
  bool archive = false;
  const Result<void> walked = walk_archive(
      path,
      [&](const std::string& member) {
        archive = !member.empty();
        other.begin(member);
        return true;
      },
      [&](std::string_view data, bool last) -> Result<void> {
        other.add(data, last);
        if (other.holds_ti() || (!archive && other.looked())) return bad_input(path, "enough was seen");
        return {};
      });
  if (other.holds_ti() || (!walked && !other.found())) return std::nullopt;
  return other.found();
}

std::optional<Error> packed_trace_of(const std::string& missing) {
  for (const std::string_view extension : packing_extensions())
    if (auto found = packed_trace(missing + std::string(extension))) return found;
  return std::nullopt;
}

std::optional<Error> packed_part_of(const std::string& missing, std::string_view of) {
  for (const std::string_view extension : packing_extensions()) {
    const std::string path = missing + std::string(extension);
    const Result<std::string> head = first_bytes(path);
    const Packing* packing = head ? packing_of(*head) : nullptr;
    if (packing == nullptr) continue;
    Error found = not_supported(fmt::format("a packed file of {}", of),
                                fmt::format("the file, unpacked with \"{}\"", packing->unpack));
    found.where = path;
    return found;
  }
  return std::nullopt;
}

}  // namespace weft::traces
