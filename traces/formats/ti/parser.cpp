#include "traces/formats/ti/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/counted.hpp"
#include "core/files/input_file.hpp"
#include "core/source_pos.hpp"
#include "traces/op_rules.hpp"

namespace weft::traces::ti {

const Parser::Row Parser::kRows[] = {
#define WEFT_X(id, text, read, kind) {&Parser::read, OpKind::kind},
    WEFT_TI_ACTIONS(WEFT_X)
#undef WEFT_X
};

bool Parser::line(const char* begin, const char* end) {
  TiFields l(context_, begin, end);
  l.skip_blanks();
  if (l.at_end() || *l.here() == '#') return true;
  const char* at = l.here();
  std::int64_t rank = 0;
  if (!l.digits("rank", rank)) return false;
  if (rank >= static_cast<std::int64_t>(context_.ranks)) {
    l.seek(at);
    return l.fail(at, "rank is out of range", l.peek(), fmt::format("0 to {}", context_.ranks - 1));
  }
  if (!input_.shared() && rank != static_cast<std::int64_t>(part_)) {
    l.seek(at);
    return l.fail(at, "a line of another rank in a rank's own file", l.peek(), std::to_string(part_));
  }
  rank_ = static_cast<std::uint32_t>(rank);
  const std::string_view name = l.peek();
  if (name.empty()) return l.fail(l.here(), "missing action", {}, known_actions());
  const auto action = find_action(name);
  if (!action) return l.fail(l.here(), "unknown action", name, known_actions());
  l.seek(l.here() + name.size());
  auto& state = states_[rank_];
  if (!state) {
    state = std::make_unique<RankState>();
    state->block.rank = RankId(rank_);
    state->source = static_cast<std::uint32_t>(part_);
  }
  ++actions_;
  const Row& row = kRows[static_cast<std::size_t>(*action)];
  return (this->*row.read)(*state, l, row.kind);
}

Result<void> Parser::lines(std::string_view text) {
  const char* p = text.data();
  const char* end = p + text.size();
  context_.readable = end;
  if (const std::size_t at = stray_return(text); at != std::string_view::npos) {
    const std::string_view before = text.substr(0, at);
    const std::size_t line = before.rfind('\n');  // npos + 1 = 0
    const auto number = context_.line + 1 + static_cast<std::uint32_t>(std::ranges::count(before, '\n'));
    return bad_input(SourcePos{*context_.file, number, static_cast<std::uint32_t>(at - line)}.text(),
                     "a carriage return inside a line", {}, "lines that end in LF or in CR LF");
  }
  while (p < end) {
    const auto* eol = static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(end - p)));
    const char* stop = eol == nullptr ? end : eol;
    if (context_.line == UINT32_MAX)
      return bad_input(input_.parts()[part_].name, "the file has too many lines", {},
                       "fewer than 2^32 lines");
    ++context_.line;
    const char* last = stop;
    while (last > p && last[-1] == '\r') --last;
    if (!line(p, last)) return *context_.error;
    p = stop + 1;
  }
  return {};
}

Result<void> Parser::feed(std::size_t part, std::string_view text, bool last) {
  constexpr std::size_t kMaxLine = 16u << 20;
  if (part != part_) {
    part_ = part;
    context_.line = 0;
    context_.file = &input_.parts()[part].name;
    carry_.clear();
  }
  if (last) {
    // A last line without a newline counts (SimGrid drops it).
    const std::string rest = std::move(carry_);
    carry_.clear();
    WEFT_TRY(lines(rest));
    if (!input_.shared() && part < states_.size() && states_[part]) {
      flush(*states_[part]);
      states_[part].reset();
    }
    return {};
  }
  if (!carry_.empty()) {
    const std::size_t eol = text.find('\n');
    if (eol == std::string_view::npos) {
      if (carry_.size() + text.size() > kMaxLine)
        return bad_input(fmt::format("{}:{}", input_.parts()[part].name, context_.line + 1),
                         "the line is too long", {}, "at most 16 MiB");
      carry_.append(text);
      return {};
    }
    carry_.append(text.substr(0, eol));
    const std::string one = std::move(carry_);
    carry_.clear();
    WEFT_TRY(lines(one));
    text.remove_prefix(eol + 1);
  }
  const std::size_t end = text.rfind('\n');
  if (end == std::string_view::npos) {
    carry_.append(text);
    return {};
  }
  WEFT_TRY(lines(text.substr(0, end + 1)));
  carry_.append(text.substr(end + 1));
  return {};
}

void Parser::finish() {
  for (auto& s : states_)
    if (s) flush(*s);
  const auto note = [&](std::uint64_t n, const char* what) {
    if (n > 0) out_.add_note(fmt::format("{} {}", n, what));
  };
  note(completed_waits_, "waits named no outstanding request and were dropped as completed before.");
  note(tests_, "tests were dropped: the text does not say whether they succeeded.");
  note(comm_actions_,
       "communicator actions were dropped: the text does not say who belongs to which communicator.");
  note(
      context_.null_types,
      "messages or collectives have datatype -1 (a derived type): their size is lost and counts as 0 bytes.");
  if (uneven_ > 0)
    out_.add_warning(fmt::format(
        "{} whose counts to send and to receive differ, which MPI does not allow; the first at {}",
        counted(uneven_, "collective"), first_uneven_));
  for (const auto& f : input_.ignored()) out_.add_note(fmt::format("{} was ignored: not a rank's file.", f));
}

}  // namespace weft::traces::ti
