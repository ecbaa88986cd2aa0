#include "traces/formats/goal/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "core/files/input_file.hpp"
#include "core/source_pos.hpp"
#include "traces/formats/goal/labels.hpp"
#include "traces/weft/format.hpp"

namespace weft::traces::goal {
namespace {

constexpr std::size_t kChunk = 1u << 20;
constexpr std::size_t kMaxLine = 1u << 20;
constexpr std::uint64_t kLeastRankText = 9;  // "rank 0{}" and the end of its line

constexpr bool is_blank(char c) { return c == ' ' || c == '\t'; }
constexpr bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }
constexpr bool is_letter(char c) { return static_cast<unsigned char>((c | 0x20) - 'a') < 26; }
constexpr auto kIsWord = [] {
  std::array<bool, 256> is{};
  for (int i = 0; i < 256; ++i) {
    const char c = static_cast<char>(i);
    is[static_cast<std::size_t>(i)] = is_letter(c) || is_digit(c) || c == '_';
  }
  return is;
}();
constexpr bool is_word(char c) { return kIsWord[static_cast<unsigned char>(c)]; }

class TextReader {
 public:
  TextReader(const std::string& path, std::uint64_t bytes, const ScheduleSink& sink)
      : path_(path), bytes_(bytes), sink_(sink) {}
  Result<void> read(std::istream& in);

 private:
  // One line, [at_, end_). False: error_ says what is wrong.
  bool line(std::string_view text);
  bool statement();
  bool dependency(std::string_view label, const char* at);
  bool operation(std::string_view label, const char* at, Kind kind);
  bool options(Operation& op);
  bool open_ranks();
  bool open_rank();
  bool close_rank();

  void skip_blanks() {
    while (at_ < end_ && is_blank(*at_)) ++at_;
  }
  // Blanks and comments; false at the end of the line.
  bool more();
  // The word [A-Za-z][A-Za-z0-9_]* that is next, consumed; empty: none is.
  std::string_view word() {
    const char* const from = at_;
    if (at_ < end_ && is_letter(*at_))
      while (at_ < end_ && is_word(*at_)) ++at_;
    return {from, static_cast<std::size_t>(at_ - from)};
  }
  // A keyword, which digits may follow at once.
  bool keyword(std::string_view name) {
    skip_blanks();
    if (static_cast<std::size_t>(end_ - at_) < name.size() || std::memcmp(at_, name.data(), name.size()) != 0)
      return false;
    if (at_ + name.size() < end_ && is_letter(at_[name.size()])) return false;
    at_ += name.size();
    return true;
  }
  bool number(const char* what, std::uint64_t most, std::uint64_t& out);
  // As number, or -1, which is kAny.
  bool number_or_any(const char* what, std::uint64_t most, bool any, std::uint32_t& out);
  bool end_of_statement();
  // What stands at `at`, for messages.
  [[nodiscard]] std::string got(const char* at) const {
    const char* e = at;
    if (e < end_ && is_word(*e))
      while (e < end_ && is_word(*e)) ++e;
    else if (e < end_)
      while (e < end_ && !is_blank(*e) && !is_word(*e)) ++e;
    return e == at ? std::string("end of line") : std::string(at, e);
  }
  bool fail(const char* at, std::string what, std::string got, std::string expected = {}) {
    error_ = bad_input(place(at), std::move(what), std::move(got), std::move(expected));
    return false;
  }
  bool refuse(const char* at, std::string what, std::string expected) {
    error_ = not_supported(std::move(what), std::move(expected));
    error_.where = place(at);
    return false;
  }
  [[nodiscard]] std::string place(const char* at) const { return SourcePos{path_, line_, column(at)}.text(); }
  [[nodiscard]] std::uint32_t column(const char* at) const {
    return static_cast<std::uint32_t>(at - begin_ + 1);
  }

  const std::string& path_;
  std::uint64_t bytes_;
  const ScheduleSink& sink_;
  Error error_;
  std::uint32_t line_ = 0;
  const char *begin_ = nullptr, *at_ = nullptr, *end_ = nullptr;
  // Where the comment began that the line begins in; line 0: in none.
  std::uint32_t comment_line_ = 0, comment_column_ = 0;

  std::uint64_t ranks_ = 0;
  bool known_ = false;  // ranks_
  std::vector<bool> seen_;
  std::uint64_t seen_count_ = 0;
  bool inside_ = false;  // of a rank's braces
  std::uint32_t rank_ = 0, rank_line_ = 0, rank_column_ = 0;
  Schedule schedule_;
  Labels labels_;
};

bool TextReader::more() {
  for (;;) {
    if (comment_line_ != 0) {
      const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
      const std::size_t close = rest.find("*/");
      if (close == std::string_view::npos) {
        at_ = end_;
        return false;
      }
      at_ += close + 2;
      comment_line_ = 0;
    }
    skip_blanks();
    if (at_ == end_) return false;
    if (*at_ != '/' || end_ - at_ < 2 || (at_[1] != '/' && at_[1] != '*')) return true;
    if (at_[1] == '/') {
      at_ = end_;
      return false;
    }
    comment_column_ = column(at_);
    at_ += 2;
    comment_line_ = line_;
  }
}

bool TextReader::number(const char* what, std::uint64_t most, std::uint64_t& out) {
  skip_blanks();
  const char* const from = at_;
  constexpr std::uint64_t kRoomForADigit = (UINT64_MAX - 9) / 10;
  std::uint64_t v = 0;
  bool huge = false;
  for (; at_ < end_ && is_digit(*at_); ++at_) {
    huge |= v > kRoomForADigit;
    v = v * 10 + static_cast<unsigned>(*at_ - '0');
  }
  if (at_ == from) return fail(from, fmt::format("the {} is not a number", what), got(from), "digits");
  if (huge || v > most)
    return fail(from, fmt::format("the {} is too large", what), got(from), fmt::format("at most {}", most));
  out = v;
  return true;
}

bool TextReader::number_or_any(const char* what, std::uint64_t most, bool any, std::uint32_t& out) {
  skip_blanks();
  if (any && end_ - at_ >= 2 && at_[0] == '-' && at_[1] == '1') {
    at_ += 2;
    out = kAny;
    return true;
  }
  std::uint64_t v = 0;
  if (!number(what, most, v)) return false;
  out = static_cast<std::uint32_t>(v);
  return true;
}

bool TextReader::end_of_statement() {
  if (!more()) return true;
  return fail(at_, "a statement ends with its line", got(at_), "the end of the line");
}

bool TextReader::open_ranks() {
  const char* at = at_;
  skip_blanks();
  if (known_) return fail(at, "num_ranks stands twice", std::to_string(ranks_), "one num_ranks");
  at = at_;
  if (!number("number of ranks", format::kMaxRanks, ranks_)) return false;
  if (ranks_ == 0) return fail(at, "the schedule has no ranks", "0", "1 or more");
  if (ranks_ > bytes_ / kLeastRankText + 1)
    return fail(at, "the file is too short for its number of ranks", std::to_string(ranks_),
                "\"rank R {\" and \"}\" for each");
  known_ = true;
  seen_.resize(ranks_, false);
  if (auto ok = sink_.ranks(static_cast<std::uint32_t>(ranks_)); !ok) return error_ = ok.error(), false;
  return true;
}

bool TextReader::open_rank() {
  skip_blanks();
  const char* const at = at_;
  if (!known_) return fail(at, "a rank stands before num_ranks", got(at), "num_ranks N first");
  if (inside_)
    return fail(at, fmt::format("a rank stands inside rank {}", rank_), got(at),
                fmt::format("the \"}}\" of the rank that began in line {}", rank_line_));
  std::uint64_t r = 0;
  if (!number("rank", UINT32_MAX, r)) return false;
  if (r >= ranks_)
    return fail(at, "there is no such rank", std::to_string(r), fmt::format("0 to {}", ranks_ - 1));
  if (seen_[r]) return fail(at, "the rank stands twice", std::to_string(r), "each rank once");
  skip_blanks();
  if (at_ == end_ || *at_ != '{') return fail(at_, "a rank's operations stand in braces", got(at_), "{");
  ++at_;
  seen_[r] = true;
  ++seen_count_;
  rank_ = static_cast<std::uint32_t>(r);
  rank_line_ = line_;
  rank_column_ = column(at);
  inside_ = true;
  schedule_.clear();
  labels_.clear();
  return true;
}

bool TextReader::close_rank() {
  inside_ = false;
  labels_.clear();
  const Place place = [this](const Operation& op) { return SourcePos{path_, op.line, op.column}.text(); };
  if (auto ok = sink_.rank(rank_, schedule_, place); !ok) return error_ = ok.error(), false;
  return true;
}

// [tag T] [cpu C] [nic N], in this order.
bool TextReader::options(Operation& op) {
  std::uint64_t v = 0;
  if (op.kind != Kind::kCalc && keyword("tag")) {
    skip_blanks();
    const char* const at = at_;
    if (!number_or_any("tag", UINT32_MAX, true, op.tag)) return false;
    if (op.tag == kAny && op.kind == Kind::kSend)
      return refuse(at, "a send of any tag", "a tag of 0 to 2147483647");
    if (op.tag > kMaxTag && op.tag != kAny)
      return refuse(at, fmt::format("the tag {}", op.tag), "a tag of 0 to 2147483647");
  }
  if (keyword("cpu")) {
    if (!number("cpu", 255, v)) return false;
    op.cpu = static_cast<std::uint8_t>(v);
  }
  if (op.kind != Kind::kCalc && keyword("nic")) {
    if (!number("nic", 255, v)) return false;
    op.nic = static_cast<std::uint8_t>(v);
  }
  if (!more()) return true;
  return fail(at_, "unknown option", got(at_),
              op.kind == Kind::kCalc ? "cpu, or the end of the line"
                                     : "tag, cpu, nic in this order, or the end of the line");
}

bool TextReader::operation(std::string_view label, const char* label_at, Kind kind) {
  Operation op{.line = line_, .kind = kind};
  if (column(label_at) <= UINT8_MAX) op.column = static_cast<std::uint8_t>(column(label_at));
  if (kind == Kind::kCalc) {
    if (!number("time", kMaxNanoseconds, op.size)) return false;
  } else {
    if (!number("size", kMaxBytes, op.size)) return false;
    if (!keyword("b")) return fail(at_, "a size is in bytes", got(at_), "b");
    const std::string_view side = kind == Kind::kSend ? "to" : "from";
    if (!keyword(side)) return fail(at_, "a message has another side", got(at_), std::string(side));
    skip_blanks();
    const char* const at = at_;
    if (!number_or_any("rank", UINT32_MAX, kind == Kind::kRecv, op.peer)) return false;
    if (op.peer >= ranks_ && (op.peer != kAny || *at != '-'))
      return fail(at, "there is no such rank", got(at), fmt::format("0 to {}", ranks_ - 1));
  }
  if (!options(op)) return false;
  if (schedule_.ops.size() >= kMaxOperations)
    return refuse(begin_, "more than 2^31 operations of a rank", "fewer");
  if (!label.empty() && !labels_.define(label, static_cast<std::uint32_t>(schedule_.ops.size())))
    return fail(label_at, "the label is there already", std::string(label), "each label once in a rank");
  schedule_.ops.push_back(op);
  return true;
}

bool TextReader::dependency(std::string_view label, const char* label_at) {
  skip_blanks();
  const char* at = at_;
  const std::string_view how = word();
  if (how != "requires" && how != "irequires") {
    at_ = at;
    return fail(at, "a label stands alone", got(at), "\":\", \"requires\" or \"irequires\"");
  }
  const auto find = [this](std::string_view name, const char* where, std::uint32_t& out) {
    out = labels_.find(name);
    return out != Labels::kNone || fail(where, fmt::format("rank {} has no such label above", rank_),
                                        std::string(name), "the label of an operation above");
  };
  Dependency d;
  if (!find(label, label_at, d.later)) return false;
  skip_blanks();
  at = at_;
  const std::string_view other = word();
  if (other.empty()) return fail(at, "a dependency names two labels", got(at), "a label");
  if (!find(other, at, d.earlier)) return false;
  if (d.earlier == d.later)
    return fail(at, "an operation requires itself", std::string(other), "another operation");
  if (how[0] == 'i') d.earlier |= Dependency::kAtStart;
  if (schedule_.dependencies.size() >= kMaxDependencies)
    return refuse(begin_, "more than 2^32 dependencies of a rank", "fewer");
  schedule_.dependencies.push_back(d);
  return end_of_statement();
}

bool TextReader::statement() {
  const char* const at = at_;
  const std::string_view first = word();
  if (first.empty()) {
    if (*at_ == '}') {
      if (!inside_) return fail(at_, "a brace closes nothing", "}", "rank R {");
      ++at_;
      return close_rank();
    }
    return fail(at_, "no statement begins like this", got(at_),
                inside_ ? "send, recv, calc, a label or }" : "num_ranks or rank");
  }
  if (first == "num_ranks") return open_ranks();
  if (first == "rank") return open_rank();
  if (!inside_)
    return fail(at, "an operation stands outside of a rank", std::string(first), "num_ranks or rank");
  const auto kind_of = [](std::string_view name) {
    return name == "send"   ? Kind::kSend
           : name == "recv" ? Kind::kRecv
           : name == "calc" ? Kind::kCalc
                            : Kind{};
  };
  if (kind_of(first) != Kind{}) return operation({}, at, kind_of(first));
  skip_blanks();
  if (at_ == end_ || *at_ != ':') return dependency(first, at);
  ++at_;
  skip_blanks();
  const char* const name = at_;
  const Kind kind = kind_of(word());
  if (kind == Kind{}) {
    at_ = name;
    return fail(name, "a label stands before an operation", got(name), "send, recv or calc");
  }
  return operation(first, at, kind);
}

bool TextReader::line(std::string_view text) {
  if (line_ == UINT32_MAX) {
    error_ = bad_input(path_, "the file has too many lines", {}, "fewer than 2^32 lines");
    return false;
  }
  ++line_;
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  if (line_ == 1) text = without_bom(text);
  begin_ = at_ = text.data();
  end_ = at_ + text.size();
  while (more())
    if (!statement()) return false;
  return true;
}

Result<void> TextReader::read(std::istream& in) {
  std::string buffer;
  std::size_t from = 0;
  for (bool end = false; !end;) {
    buffer.erase(0, from);
    from = 0;
    const std::size_t kept = buffer.size();
    if (kept > kMaxLine)
      return bad_input(fmt::format("{}:{}:1", path_, line_ + 1), "the line is too long", {}, "at most 1 MiB");
    buffer.resize(kept + kChunk);
    in.read(buffer.data() + kept, static_cast<std::streamsize>(kChunk));
    if (in.bad()) return bad_input(path_, "the file cannot be read");
    buffer.resize(kept + static_cast<std::size_t>(in.gcount()));
    end = in.eof();
    for (;;) {
      const std::size_t newline = buffer.find('\n', from == 0 ? kept : from);
      if (newline == std::string::npos && (!end || from == buffer.size())) break;
      const std::size_t stop = std::min(newline, buffer.size());
      if (!line(std::string_view(buffer).substr(from, stop - from))) return error_;
      from = std::min(stop + 1, buffer.size());
    }
  }
  const auto where = [this](std::uint32_t line, std::uint32_t column) {
    return SourcePos{path_, line, column}.text();
  };
  if (comment_line_ != 0)
    return bad_input(where(comment_line_, comment_column_), "the comment does not end", {}, "*/");
  if (inside_)
    return bad_input(where(rank_line_, rank_column_), fmt::format("rank {} does not end", rank_), {}, "}");
  if (!known_) return bad_input(path_, "the schedule has no num_ranks", {}, "num_ranks N");
  if (seen_count_ != ranks_) {
    std::size_t missing = 0;
    while (seen_[missing]) ++missing;
    return bad_input(where(line_, column(end_)), fmt::format("rank {} is missing", missing), {},
                     fmt::format("\"rank R {{\" for 0 to {}", ranks_ - 1));
  }
  return {};
}

}  // namespace

Result<void> read_text(const std::string& path, const ScheduleSink& sink) {
  std::ifstream in(path, std::ios::binary);
  std::error_code ec;
  const std::uint64_t bytes = std::filesystem::file_size(path, ec);
  if (!in || ec) return bad_input(path, "the file cannot be read");
  return TextReader(path, bytes, sink).read(in);
}

}  // namespace weft::traces::goal
