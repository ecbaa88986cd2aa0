#include "traces/formats/dimemas/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/source_pos.hpp"
#include "core/units.hpp"

namespace weft::traces::dimemas {
namespace {

constexpr double kMostSeconds = 9e6;  // 104 days: less than a time holds

}  // namespace

std::size_t Fields::left() const {
  if (at_end()) return 0;
  const auto rest = line_.text.substr(at_);
  return 1 + static_cast<std::size_t>(std::ranges::count(rest, ':'));
}

std::string_view Fields::peek() const {
  if (at_end()) return {};
  const auto rest = line_.text.substr(at_);
  return rest.substr(0, rest.find(':'));
}

std::string Fields::place() const {
  return SourcePos{*line_.file, static_cast<std::uint32_t>(std::min<std::uint64_t>(line_.number, UINT32_MAX)),
                   whole_line_ ? 0 : static_cast<std::uint32_t>(std::min(at_, line_.text.size()) + 1)}
      .text();
}

bool Fields::fail(std::string what, std::string expected) {
  const auto got = peek();
  if (whole_line_) {
    error_ = bad_input(place(), std::move(what), {}, std::move(expected));
    return false;
  }
  error_ = bad_input(
      place(), std::move(what),
      at_end() || got.empty() ? std::string(at_end() ? "end of line" : "nothing") : std::string(got),
      std::move(expected));
  return false;
}

bool Fields::refuse(std::string what, std::string expected) {
  error_ = not_supported(std::move(what), std::move(expected));
  error_->where = place();
  return false;
}

bool Fields::fail_at(std::size_t index, std::string what, std::string expected) {
  at_ = 0;
  for (std::size_t i = 0; i < index; ++i) skip();
  return fail(std::move(what), std::move(expected));
}

bool Fields::text_up_to(char end, const char* what, std::string_view& out) {
  const auto rest = at_end() ? std::string_view() : line_.text.substr(at_);
  const std::size_t n = rest.find(end);
  if (n == std::string_view::npos) return fail(fmt::format("{} has no end", what), fmt::format("a {}", end));
  out = rest.substr(0, n);
  at_ += n + 1;
  return true;
}

bool Fields::whole(const char* what, std::int64_t least, std::int64_t most, std::int64_t& out) {
  const auto text = peek();
  std::int64_t v = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), v);
  const bool number = !text.empty() && end == text.data() + text.size();
  if (number && wrong == std::errc() && v >= least && v <= most) {
    out = v;
    at_ += text.size() + 1;
    return true;
  }
  if (at_end()) return fail(fmt::format("missing {}", what), "a number");
  if (!number) return fail(fmt::format("{} is not a whole number", what), "a whole number");
  return fail(fmt::format("{} is out of range", what), fmt::format("{} to {}", least, most));
}

bool Fields::value(const char* what, std::int64_t& out) {
  const auto text = peek();
  std::uint64_t v = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (wrong != std::errc() || end != text.data() + text.size()) return whole(what, INT64_MIN, INT64_MAX, out);
  out = static_cast<std::int64_t>(v);
  at_ += text.size() + 1;
  return true;
}

bool Fields::seconds(const char* what, std::int64_t& picoseconds) {
  const auto text = peek();
  double v = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), v);
  const bool number =
      !text.empty() && end == text.data() + text.size() && wrong != std::errc::invalid_argument;
  if (at_end()) return fail(fmt::format("missing {}", what), "seconds");
  if (!number || std::isnan(v)) return fail(fmt::format("{} is not a number", what), "seconds");
  if (wrong != std::errc() || !(v >= 0) || v > kMostSeconds)
    return fail(fmt::format("{} is out of range", what), "0 to 9e6 seconds");
  picoseconds = from_seconds(v).count();
  at_ += text.size() + 1;
  return true;
}

bool Fields::nothing_more() {
  return at_end() || fail("the record has too many fields", "the end of the line");
}

}  // namespace weft::traces::dimemas
