#include "traces/formats/liballprof/line.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/files/input_file.hpp"
#include "core/source_pos.hpp"

namespace weft::traces::allprof {
namespace {

// Half of what nanoseconds of 64 bits hold: gaps never overflow.
constexpr std::int64_t kMostMicroseconds = INT64_MAX / 2000;

// MPICH makes handles of 32 bits; as `unsigned long` their sign fills the upper half.
constexpr std::uint64_t without_sign(std::uint64_t bits) {
  return bits >> 32 == 0xffffffffU ? bits & 0xffffffffU : bits;
}

}  // namespace

bool LineParser::fail(const Field& f, std::string what, std::string expected) {
  error_ =
      bad_input(position(f.column), std::move(what), std::string(f.text.substr(0, 100)), std::move(expected));
  return false;
}

std::string LineParser::position(std::uint32_t column) const {
  return SourcePos{*file_, number_, column}.text();
}

// Digits, and with a point the nanoseconds behind it; what is finer is dropped.
bool LineParser::time(const Field& f, std::optional<std::int64_t>& ns) {
  ns.reset();
  if (f.text == "-") return true;
  std::int64_t us = 0;
  std::size_t i = 0;
  for (; i < f.text.size() && f.text[i] >= '0' && f.text[i] <= '9'; ++i) {
    us = us * 10 + (f.text[i] - '0');
    if (us > kMostMicroseconds)
      return fail(f, "the time is out of range", fmt::format("at most {} microseconds", kMostMicroseconds));
  }
  std::int64_t fraction = 0;
  bool good = i > 0;
  if (good && i < f.text.size() && f.text[i] == '.') {
    const std::size_t point = i++;
    for (std::int64_t weight = 100; i < f.text.size() && f.text[i] >= '0' && f.text[i] <= '9';
         ++i, weight /= 10)
      fraction += weight * (f.text[i] - '0');
    good = i > point + 1;
  }
  if (!good || i != f.text.size()) return fail(f, "not a time", "microseconds, or a dash");
  ns = us * 1000 + fraction;
  return true;
}

// The number that `f` begins with, up to a comma, which is taken off with it.
bool LineParser::whole(Field& f, const char* what, std::int64_t& value) {
  const std::size_t end = std::min(f.text.find(','), f.text.size());
  const std::string_view digits = f.text.substr(0, end);
  const bool negative = digits.starts_with('-');
  std::uint64_t v = 0;
  bool good = digits.size() > (negative ? 1U : 0U) && digits.size() <= 20;
  for (std::size_t i = negative ? 1 : 0; good && i < digits.size(); ++i)
    good = digits[i] >= '0' && digits[i] <= '9' && !__builtin_mul_overflow(v, std::uint64_t{10}, &v) &&
           !__builtin_add_overflow(v, static_cast<std::uint64_t>(digits[i] - '0'), &v);
  if (good && negative) good = v <= std::uint64_t{1} << 63;
  if (!good) return fail({digits, f.column}, fmt::format("the {} is not a number", what), "a whole number");
  value = static_cast<std::int64_t>(negative ? 0 - v : v);
  f.text.remove_prefix(std::min(end + 1, f.text.size()));
  f.column += static_cast<std::uint32_t>(end + 1);
  return true;
}

bool LineParser::small(Field& f, const char* what, std::int32_t& value) {
  const Field was = f;
  std::int64_t v = 0;
  if (!whole(f, what, v)) return false;
  if (v < INT32_MIN || v > INT32_MAX)
    return fail({was.text.substr(0, was.text.find(',')), was.column},
                fmt::format("the {} is out of range", what), "a number of 32 bits");
  value = static_cast<std::int32_t>(v);
  return true;
}

bool LineParser::argument(char type, const Field& field, Arg& arg) {
  Field f = field;
  arg.column = field.column;
  const auto parts = [&](std::size_t n, const char* expected) {
    return static_cast<std::size_t>(std::ranges::count(field.text, ',')) + 1 == n ||
           fail(field, "not what stands here", expected);
  };
  switch (type) {
    case 't': {
      std::int64_t id = 0, extent = 0;
      std::int32_t size = 0;
      if (!parts(3, "a datatype: ID,SIZE,EXTENT") || !whole(f, "datatype", id) ||
          !small(f, "size of the datatype", size) || !whole(f, "extent of the datatype", extent))
        return false;
      arg.value = size;
      return true;
    }
    case 'c': {
      std::int64_t handle = 0;
      if (!parts(3, "a communicator: HANDLE,RANK,SIZE") || !whole(f, "communicator", handle) ||
          !small(f, "rank", arg.rank) || !small(f, "size", arg.size))
        return false;
      arg.value = static_cast<std::int64_t>(without_sign(static_cast<std::uint64_t>(handle)));
      return true;
    }
    default: {
      if (!parts(1, "a number") || !whole(f, type == 'i' ? "argument" : "address", arg.value)) return false;
      return true;
    }
  }
}

bool LineParser::list(const Field& field, Line& line, Arg& arg) {
  Field f = field;
  arg.first = static_cast<std::uint32_t>(line.counts.size());
  do {
    std::int32_t count = 0;
    if (!small(f, "count", count)) return false;
    line.counts.push_back(count);
  } while (!f.text.empty());
  arg.counts = static_cast<std::uint32_t>(line.counts.size()) - arg.first;
  return true;
}

bool LineParser::arguments(Line& line) {
  const Layout& l = kLayouts[line.call];
  // Name, start, end; behind some arguments their counts.
  const std::size_t least = l.args + std::size_t{3}, most = least + l.lists;
  line.has_counts = l.lists > 0 && fields_.size() == most;
  if (fields_.size() != least && !line.has_counts)
    return fail(fields_[0], fmt::format("MPI_{} has {} fields between its colons", line.name, fields_.size()),
                l.lists > 0 ? fmt::format("{} or {}", least, most) : std::to_string(least));
  std::size_t at = 2;
  for (std::size_t a = 0; a < l.args; ++a) {
    line.arg[a] = {};
    if (!argument(l.type[a], fields_[at++], line.arg[a])) return false;
    if (l.type[a] == 'C' && line.has_counts && !list(fields_[at++], line, line.arg[a])) return false;
  }
  return true;
}

Result<bool> LineParser::parse(std::string_view text, std::uint32_t number, Line& line) {
  auto call = parse_line(text, number, line);
  if (!call && text.starts_with("MPI_") &&
      (text.find("# backtrace [") != std::string_view::npos || text.find(":0x") != std::string_view::npos)) {
    Error e = not_supported("a trace of liballprof2, which names no requests and no sizes of datatypes",
                            "one of liballprof, or of weft record");
    e.where = position();
    return e;
  }
  return call;
}

Result<bool> LineParser::parse_line(std::string_view text, std::uint32_t number, Line& line) {
  number_ = number;
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ' || text.back() == '\t'))
    text.remove_suffix(1);
  if (text.empty() || text.front() == '#') return false;
  line.number = number;
  line.counts.clear();
  line.has_counts = false;
  if (!text.starts_with("MPI_"))
    return bad_input(position(1), "neither a call of MPI nor a comment", std::string(text.substr(0, 100)),
                     "MPI_NAME:START:ARGUMENTS:END, or #");
  fields_.clear();
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    fields_.push_back({text.substr(at, end - at), static_cast<std::uint32_t>(at + 1)});
    if (end == text.size()) break;
    at = end + 1;
  }
  line.name = fields_[0].text.substr(4);
  line.call = find_call(line.name);
  line.cls = class_of(line.call, line.name);
  if (line.cls == CallClass::unknown) {
    const bool name = !line.name.empty() && std::ranges::all_of(line.name, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (!name || fields_.size() < 3)
      return bad_input(position(1), "not a call of MPI", std::string(text.substr(0, 100)),
                       "MPI_NAME:START:ARGUMENTS:END");
    Error e = not_supported(fmt::format("MPI_{} in a liballprof trace", line.name), "a function of MPI-3");
    e.where = position(1);
    return e;
  }
  if (fields_.size() < 3)
    return bad_input(position(1), "the line is cut off", std::string(text.substr(0, 100)),
                     "MPI_NAME:START:ARGUMENTS:END");
  if (!time(fields_[1], line.start_ns) || !time(fields_.back(), line.stop_ns)) return *error_;
  if (line.cls == CallClass::op && !arguments(line)) return *error_;
  if (line.call != kInit && line.call != kInit_thread && line.cls == CallClass::op && !line.start_ns)
    return bad_input(position(fields_[1].column), "the call has no start", "-", "microseconds");
  if (line.call != kFinalize && line.cls == CallClass::op && !line.stop_ns)
    return bad_input(position(fields_.back().column), "the call has no end", "-", "microseconds");
  return true;
}

bool looks_like_liballprof(std::string_view text) {
  text = without_bom(text);
  if (text.starts_with("# collprof ") || text.starts_with("# htor's PMPI Tracer")) return true;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (!line.empty() && line.front() != '#' && line.front() != '\r')
      return line.starts_with("MPI_") && line.find(':') != std::string_view::npos;
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return false;
}

}  // namespace weft::traces::allprof
