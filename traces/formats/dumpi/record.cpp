#include "traces/formats/dumpi/record.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/source_pos.hpp"
#include "traces/op_rules.hpp"

namespace weft::traces::dumpi {

void RecordReader::close() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Result<void> RecordReader::seek(const RankFile& file, std::int64_t rank, StreamPos pos) {
  if (file_ != &file || fd_ < 0) {
    close();
    fd_ = ::open(file.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd_ < 0) return bad_input(file.path, fmt::format("cannot open: {}", std::strerror(errno)));
    base_ = at_ = filled_ = 0;
  }
  file_ = &file;
  rank_ = rank;
  record_ = pos.record;
  error_ = {};
  if (pos.offset >= base_ && pos.offset <= base_ + filled_) {
    at_ = static_cast<std::size_t>(pos.offset - base_);
  } else {
    base_ = pos.offset;
    at_ = filled_ = 0;
  }
  return {};
}

// Moves what is left to the front and fills up; false, with the error, if the stream has fewer than `n` bytes.
bool RecordReader::refill(std::size_t n) {
  if (n > left()) return ends();
  std::memmove(window_.data(), window_.data() + at_, filled_ - at_);
  base_ += at_;
  filled_ -= at_;
  at_ = 0;
  while (filled_ < n) {
    const std::uint64_t most = std::min<std::uint64_t>(window_.size(), file_->end - base_);
    const ssize_t got = ::pread(fd_, window_.data() + filled_, static_cast<std::size_t>(most) - filled_,
                                static_cast<off_t>(base_ + filled_));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(fmt::format("cannot read: {}", std::strerror(errno)));
    if (got == 0) return fail("the file became shorter while it was read");
    filled_ += static_cast<std::size_t>(got);
  }
  return true;
}

bool RecordReader::fail(std::string what, std::string got, std::string expected) {
  error_ = bad_input(where(here()), std::move(what), std::move(got), std::move(expected));
  return false;
}

bool RecordReader::ends() {
  return fail("the stream of calls ends inside of a record", fmt::format("{} bytes", left()),
              fmt::format("records, then {} right before byte {:#x}", kEndOfStream, file_->end));
}

std::string RecordReader::where(std::uint64_t offset) const {
  return BytePos{file_->path, offset, static_cast<std::int64_t>(record_), rank_}.text();
}

Error RecordReader::fault(const Record& at, std::string what, std::string got, std::string expected) const {
  return bad_input(BytePos{file_->path, at.offset, static_cast<std::int64_t>(at.number), rank_}.text(),
                   fmt::format("MPI_{}: {}", at.layout().name, what), std::move(got), std::move(expected));
}

// Precondition: need(sizeof(T)).
template <class T>
T RecordReader::get() {
  T v;
  std::memcpy(&v, window_.data() + at_, sizeof v);
  at_ += sizeof v;
  static_assert(std::endian::native == std::endian::little);
  if constexpr (sizeof v == 2) return static_cast<T>(__builtin_bswap16(static_cast<std::uint16_t>(v)));
  if constexpr (sizeof v == 4) return static_cast<T>(__builtin_bswap32(static_cast<std::uint32_t>(v)));
  if constexpr (sizeof v == 8) return static_cast<T>(__builtin_bswap64(static_cast<std::uint64_t>(v)));
  return v;
}

bool RecordReader::skip(std::uint64_t n) {
  if (n > left()) return ends();
  if (n <= filled_ - at_) {
    at_ += static_cast<std::size_t>(n);
  } else {
    base_ = here() + n;
    at_ = filled_ = 0;
  }
  return true;
}

// A length that is followed by so many elements.
bool RecordReader::count(std::size_t element_bytes, std::uint64_t& n) {
  if (!need(4)) return false;
  const std::uint64_t at = here();
  n = get<std::uint32_t>();
  if (n <= left() / element_bytes) return true;
  error_ = bad_input(where(at), "an array does not fit into the rest of the stream",
                     fmt::format("{} values", n), fmt::format("at most {}", left() / element_bytes));
  return false;
}

template <class T>
bool RecordReader::array(Record& out, std::size_t field) {
  std::uint64_t n = 0;
  if (!count(sizeof(T), n)) return false;
  if (out.pool.size() + n > kMaxListValues) {
    error_ = not_supported(fmt::format("a call with arrays of {} values", out.pool.size() + n),
                           fmt::format("at most {}", kMaxListValues));
    error_.where = where(here());
    return false;
  }
  out.value[field] = static_cast<std::int64_t>(n);
  out.begin[field] = static_cast<std::uint32_t>(out.pool.size());
  while (n > 0) {
    const std::size_t some = std::min<std::size_t>(n, 1024);
    if (!need(some * sizeof(T))) return false;
    for (std::size_t i = 0; i < some; ++i) out.pool.push_back(static_cast<std::int32_t>(get<T>()));
    n -= some;
  }
  return true;
}

bool RecordReader::text() {
  std::uint64_t n = 0;
  return count(1, n) && skip(n);
}

bool RecordReader::times(Times& out) {
  if (!need(12)) return false;
  constexpr std::uint32_t kSecond = 1'000'000'000;
  const std::int64_t s0 = get<std::uint16_t>();
  const std::uint32_t ns0 = get<std::uint32_t>();
  const std::int64_t s1 = get<std::uint16_t>();
  const std::uint32_t ns1 = get<std::uint32_t>();
  if (ns0 >= kSecond || ns1 >= kSecond)
    return fail("a time has too many nanoseconds", std::to_string(std::max(ns0, ns1)),
                fmt::format("less than {}", kSecond));
  out = {s0 * kSecond + ns0, s1 * kSecond + ns1};
  return true;
}

bool RecordReader::head(Record& out) {
  out.offset = here();
  out.number = record_;
  if (!need(2)) return false;
  out.call = get<std::uint16_t>();
  if (out.call == kEndOfStream) return true;
  if (out.call >= kCallNumbers || out.layout().cls == CallClass::none) {
    error_ = bad_input(where(out.offset), "no MPI function has this number", std::to_string(out.call),
                       "0 to 127, 129 to 281, 291, 292, or 293 at the end");
    return false;
  }
  if (!need(1)) return false;
  out.mask = get<std::uint8_t>();
  if ((out.mask & ~kMaskKnown) != 0) {
    error_ = bad_input(where(out.offset + 2), "the mask of a record has unknown bits",
                       fmt::format("{:#04x}", out.mask), fmt::format("bits of {:#04x}", kMaskKnown));
    return false;
  }
  out.thread = 0;
  if ((out.mask & kMaskThread) != 0) {
    if (!need(2)) return false;
    out.thread = get<std::uint16_t>();
  }
  if ((out.mask & kMaskCpu) != 0 && !times(out.cpu)) return false;
  if ((out.mask & kMaskWall) != 0 && !times(out.wall)) return false;
  if ((out.mask & kMaskCounters) != 0) {
    if (!need(1)) return false;
    const std::uint64_t n = get<std::uint8_t>();
    if (!skip(16 * n)) return false;
  }
  return true;
}

bool RecordReader::statuses(Record& out, std::size_t field) {
  out.value[field] = 0;
  if ((out.mask & kMaskStatuses) == 0) return true;
  const bool tags = file_->version >= kStatusTags;
  const std::size_t each = tags ? 14 : 10;
  std::uint64_t n = 0;
  if (!count(each, n)) return false;
  if (n > kMaxListValues) {
    error_ =
        not_supported(fmt::format("a call with {} statuses", n), fmt::format("at most {}", kMaxListValues));
    error_.where = where(here());
    return false;
  }
  out.value[field] = static_cast<std::int64_t>(n);
  for (; n > 0; --n) {
    if (!need(each)) return false;
    Status s;
    s.bytes = get<std::int32_t>();
    s.source = get<std::int32_t>();
    s.cancelled = get<std::uint8_t>() != 0;
    (void)get<std::uint8_t>();  // error
    if (tags) s.tag = get<std::int32_t>();
    s.has_tag = tags;
    out.statuses.push_back(s);
  }
  return true;
}

bool RecordReader::argument(Record& out, const Layout& layout, std::size_t f) {
  const Field& field = layout.field[f];
  if (field.root_only && out.value[layout.rank_field] != out.value[layout.root_field]) {
    out.value[f] = 0;
    out.begin[f] = 0;
    return true;
  }
  switch (field.type) {
    case 'x':
      if (file_->version >= kPlainArgc) return true;
      [[fallthrough]];
    case 'i':
      if (!need(4)) return false;
      out.value[f] = get<std::int32_t>();
      return true;
    case 'h':
      if (!need(2)) return false;
      out.value[f] = get<std::uint16_t>();
      return true;
    case 'b':
      if (!need(1)) return false;
      out.value[f] = get<std::uint8_t>();
      return true;
    case 'q':
      if (!need(8)) return false;
      out.value[f] = get<std::int64_t>();
      return true;
    case 'U':
    case 'V':
      if (file_->version >= (field.type == 'U' ? kCartCoords : kStructIndices))
        return array<std::int32_t>(out, f);
      out.value[f] = out.begin[f] = 0;
      return skip(4);
    case 'I':
      return array<std::int32_t>(out, f);
    case 'H':
      return array<std::uint16_t>(out, f);
    case 'B':
      return array<std::uint8_t>(out, f);
    case 'S':
      return statuses(out, f);
    case 'C':
      return text();
    case 'A': {
      const std::int64_t n = out.value[0];
      if (n > static_cast<std::int64_t>(left() / 4))
        return fail("argc does not fit into the rest of the stream", std::to_string(n),
                    fmt::format("at most {}", left() / 4));
      for (std::int64_t i = 0; i < n; ++i)
        if (!text()) return false;
      return true;
    }
    case 'L':
    case 'M':
    case 'R':
      break;
    default:
      WEFT_CHECK(false, "a layout has an unknown type");
  }
  // Lists of lists: how many, then each with its own length.
  std::uint64_t n = 0;
  if (!count(4, n)) return false;
  if (field.type != 'R') {
    for (; n > 0; --n) {
      std::uint64_t inner = 1;
      if (field.type == 'M' && !count(4, inner)) return false;
      for (; inner > 0; --inner)
        if (!text()) return false;
    }
    return true;
  }
  // Ranges: all values in one array, three a range.
  const auto begin = static_cast<std::uint32_t>(out.pool.size());
  for (std::uint64_t i = 0; i < n; ++i) {
    if (!array<std::int32_t>(out, f)) return false;
    if (out.value[f] != 3)
      return fail("a range of ranks has not three values", std::to_string(out.value[f]), "3");
  }
  out.begin[f] = begin;
  out.value[f] = static_cast<std::int64_t>(out.pool.size() - begin);
  return true;
}

bool RecordReader::arguments(Record& out) {
  out.pool.clear();
  out.statuses.clear();
  const Layout& layout = out.layout();
  for (std::size_t f = 0; f < layout.fields; ++f)
    if (!argument(out, layout, f)) return false;
  return true;
}

Result<bool> RecordReader::next(Record& out) {
  if (!head(out)) return error_;
  if (out.call == kEndOfStream) {
    if (left() == 0) return false;
    return bad_input(where(out.offset), "the stream of calls ends before the header begins",
                     fmt::format("{} bytes between", left()),
                     fmt::format("the end right before byte {:#x}", file_->end));
  }
  if (!arguments(out)) return error_;
  ++record_;
  return true;
}

}  // namespace weft::traces::dumpi
