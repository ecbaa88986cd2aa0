#include "traces/formats/ti/parser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
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

namespace {

std::uint64_t eight_bytes(const char* at) {
  std::uint64_t x = 0;
  std::memcpy(&x, at, sizeof x);
  return x;
}

// The most frequent actions with the blank after them, as the first bytes of a line that goes on with them.
struct Frequent {
  std::uint64_t bytes = 0, mask = 0;
  std::ptrdiff_t length = 0;
  Action action;
};
constexpr Frequent frequent(Action action) {
  const std::string_view name = kActionNames[static_cast<std::size_t>(action)];
  Frequent f{.length = static_cast<std::ptrdiff_t>(name.size()), .action = action};
  for (std::size_t i = 0; i <= name.size(); ++i) {
    const auto c = static_cast<std::uint64_t>(static_cast<unsigned char>(i < name.size() ? name[i] : ' '));
    f.bytes |= c << (8 * i);
    f.mask |= std::uint64_t{0xff} << (8 * i);
  }
  return f;
}
constexpr Frequent kFrequent[] = {frequent(Action::kRecv),  frequent(Action::kSend),
                                  frequent(Action::kWait),  frequent(Action::kIrecv),
                                  frequent(Action::kIsend), frequent(Action::kCompute)};
static_assert(std::endian::native == std::endian::little, "the first byte of a word is its lowest");

}  // namespace

// The rank that a line begins with; `other`: a line that is passed over. False: the error is in the context.
bool Parser::rank_of(TiFields& l, bool& other) {
  const char* at = l.here();
  std::int64_t rank = 0;
  if (!l.digits("rank", rank)) return false;
  if (!input_.shared() && rank != static_cast<std::int64_t>(part_)) {
    other = true;
    if (others_++ == 0) first_other_ = l.position(at);
    if (!only_others_)
      only_others_ = bad_input(l.position(at), "no line of the file is of its rank", std::to_string(rank),
                               std::to_string(part_));
    return true;
  }
  if (rank >= static_cast<std::int64_t>(context_.ranks)) {
    l.seek(at);
    return l.fail(at, "rank is out of range", l.peek(), fmt::format("0 to {}", context_.ranks - 1));
  }
  rank_ = static_cast<std::uint32_t>(rank);
  auto& state = states_[rank_];
  if (!state) {
    state = std::make_unique<RankState>();
    state->block.rank = RankId(rank_);
    state->source = static_cast<std::uint32_t>(part_);
  }
  // Most lines begin as the one before.
  rank_length_ = l.here() - at;
  forget_rank();
  if (rank_length_ >= 8 || context_.readable - at < 8) return true;
  rank_mask_ = ~std::uint64_t{0} >> (8 * (7 - rank_length_));
  rank_bytes_ = eight_bytes(at) & rank_mask_;
  return true;
}

bool Parser::line(const char* begin, const char* end) {
  TiFields l(context_, begin, end);
  l.skip_blanks();
  const char* at = l.here();
  const bool same_rank =
      context_.readable - at >= 8 && (eight_bytes(at) & rank_mask_) == rank_bytes_ && end - at > rank_length_;
  if (same_rank) {
    l.seek(at + rank_length_);
  } else {
    if (l.at_end() || *at == '#') return true;
    bool other = false;
    if (!rank_of(l, other)) return false;
    if (other) return true;
  }
  l.skip_blanks();
  at = l.here();
  std::optional<Action> action;
  if (context_.readable - at >= 8) {
    const std::uint64_t word = eight_bytes(at);
    for (const Frequent& f : kFrequent) {
      if ((word & f.mask) != f.bytes) continue;
      action = f.action;
      l.seek(at + f.length);
      break;
    }
  }
  if (!action) {
    const std::string_view name = l.peek();
    if (name.empty()) return l.fail(at, "missing action", {}, known_actions());
    action = find_action(name);
    if (!action && is_action_of_smpi_alone(name)) {
      l.fail(at, "an action that SMPI writes and SimGrid's replayer does not know is not supported", name,
             known_actions());
      context_.error->code = ErrorCode::kNotSupported;
      return false;
    }
    if (!action) return l.fail(at, "unknown action", name, known_actions());
    l.seek(at + name.size());
  }
  ++actions_;
  const Row& row = kRows[static_cast<std::size_t>(*action)];
  return (this->*row.read)(*states_[rank_], l, row.kind);
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
    forget_rank();
    only_others_.reset();
    context_.line = 0;
    context_.file = &input_.parts()[part].name;
    carry_.clear();
  }
  if (last) {
    // A last line without a newline counts (SimGrid drops it).
    const std::string rest = std::move(carry_);
    carry_.clear();
    WEFT_TRY(lines(rest));
    if (input_.shared()) return {};
    if (states_[part]) {
      end_rank(*states_[part]);
      states_[part].reset();
    } else if (only_others_) {
      return *only_others_;  // files in another order than that of their ranks
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
    if (s) end_rank(*s);
  const auto note = [&](std::uint64_t n, std::string_view what, std::string_view so) {
    if (n > 0) out_.add_note(fmt::format("{}{}", counted(n, what), so));
  };
  note(completed_waits_, "wait", " for no outstanding request: dropped as completed before.");
  note(comm_actions_, "communicator action",
       " dropped: the text does not say who belongs to which communicator.");
  note(context_.null_types, "size", " of datatype -1 (a derived type): lost, 0 bytes are taken.");
  if (others_ > 0)
    out_.add_warning(
        fmt::format("{} of other ranks in files of one rank: ignored, as in SimGrid; the first at {}",
                    counted(others_, "line"), first_other_));
  if (lost_sizes_ > 0)
    out_.add_warning(fmt::format(
        "{} as SMPI writes MPI_Reduce_scatter_block, zeros instead of a size: no data, as in SimGrid",
        counted(lost_sizes_, "reducescatter")));
  if (unsure_sources_ > 0)
    out_.add_warning(fmt::format(
        "{} with the source -333, which SMPI writes for any source and for MPI_PROC_NULL: taken for "
        "any source, so one of no process waits for ever",
        counted(unsure_sources_, "irecv")));
  if (tests_ > 0)
    out_.add_warning(
        fmt::format("{} dropped, because the text does not say which of them succeeded: a request "
                    "that was tested is over at its next wait, without one at the end of its rank",
                    tests_ == 1 ? "1 test was" : fmt::format("{} tests were", tests_)));
  if (left_to_the_end_ > 0)
    out_.add_warning(fmt::format("{} that no wait names: waited for at the end of the rank, as in SimGrid",
                                 counted(left_to_the_end_, "request")));
  if (uneven_ > 0)
    out_.add_warning(fmt::format(
        "{} whose counts to send and to receive differ, which MPI does not allow; the first at {}",
        counted(uneven_, "collective"), first_uneven_));
  for (const auto& f : input_.ignored()) out_.add_note(fmt::format("{} was ignored: not a rank's file.", f));
}

}  // namespace weft::traces::ti
