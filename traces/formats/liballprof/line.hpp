// One line of a liballprof trace: `MPI_Send:START:ARGUMENTS:END`, times in microseconds.
//
// Times are whole nanoseconds: of the clock of MPI_Wtime, so 53 bits of a second's fraction at most. MPI_Init has no start and
// MPI_Finalize no end (a dash). Numbers are decimal; addresses and handles are kept as 64 bits, those of MPI libraries whose handles
// are 32 bits (MPICH) without what their sign makes of the upper half.
//
// Errors: kBadInput with FILE:LINE:COLUMN; kNotSupported for functions that are not known and for lines of liballprof2.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "traces/formats/liballprof/call.hpp"

namespace weft::traces::allprof {

struct Arg {
  std::int64_t value = 0;               // a number; of a datatype its size; bits of an address or a handle
  std::int32_t rank = 0, size = 0;      // of a communicator
  std::uint32_t first = 0, counts = 0;  // counts of it, in Line::counts
  std::uint32_t column = 0;             // where it stands
  [[nodiscard]] std::uint64_t bits() const { return static_cast<std::uint64_t>(value); }
};

struct Line {
  std::uint32_t number = 0;
  std::string_view name;  // without MPI_
  Call call = kOtherCall;
  CallClass cls = CallClass::unknown;
  std::optional<std::int64_t> start_ns, stop_ns;
  std::array<Arg, kMaxArgs> arg;
  std::vector<std::int64_t> counts;
  bool has_counts = false;  // the recorder wrote them, for a call that has some

  [[nodiscard]] std::span<const std::int64_t> counts_of(std::size_t a) const {
    return std::span<const std::int64_t>(counts).subspan(arg[a].first, arg[a].counts);
  }
};

class LineParser {
 public:
  explicit LineParser(const std::string& file) : file_(&file) {}

  // Takes a line apart; false: a comment or empty.
  [[nodiscard]] Result<bool> parse(std::string_view text, std::uint32_t number, Line& line);

  // FILE:LINE:COLUMN of the line that was parsed last; no column: of all of it.
  [[nodiscard]] std::string position(std::uint32_t column = 0) const;

 private:
  struct Field {
    std::string_view text;
    std::uint32_t column;
  };
  [[nodiscard]] Result<bool> parse_line(std::string_view text, std::uint32_t number, Line& line);
  [[nodiscard]] bool fail(const Field& f, std::string what, std::string expected);
  [[nodiscard]] bool time(const Field& f, std::optional<std::int64_t>& ns);
  [[nodiscard]] bool whole(Field& f, const char* what, std::int64_t& value);
  [[nodiscard]] bool small(Field& f, const char* what, std::int32_t& value);
  [[nodiscard]] bool argument(char type, const Field& f, Arg& arg);
  [[nodiscard]] bool list(const Field& f, Line& line, Arg& arg);
  [[nodiscard]] bool arguments(Line& line);

  const std::string* file_;
  std::uint32_t number_ = 0;
  std::vector<Field> fields_;  // between the colons
  std::optional<Error> error_;
};

// True for text whose first line that is no comment is one of liballprof, or which begins with its comments.
[[nodiscard]] bool looks_like_liballprof(std::string_view text);

}  // namespace weft::traces::allprof
