#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/wide.hpp"
#include "traces/weft/block_codec.hpp"
#include "traces/weft/block_fields.hpp"
#include "traces/weft/format.hpp"
#include "traces/weft/wire.hpp"

// Columns are unpacked in bulk, checked as columns, and only then spread over the rows of their group.
namespace weft::traces {
namespace {

// Of all groups together, values of lists: as many as a block has room for at their longest.
constexpr std::size_t kMaxValues = format::kMaxBlockBytes / kMostVarintBytes;

Error fault(std::string what, std::string got = {}, std::string expected = {}) {
  return bad_input({}, std::move(what), std::move(got), std::move(expected));
}
Error no_message() { return fault("the block is not an OpBlock message"); }
Error other_count() { return fault("a column has not one value for each operation of its group"); }

template <class T>
struct Range {
  T low;
  T high;
};
template <class T>
[[gnu::always_inline]] inline Range<T> extremes(const T* v, std::size_t n) {
  Range<T> r{v[0], v[0]};
  for (std::size_t i = 1; i < n; ++i) {
    r.low = v[i] < r.low ? v[i] : r.low;
    r.high = v[i] > r.high ? v[i] : r.high;
  }
  return r;
}
WEFT_WIDE Range<std::int32_t> range_of(const std::int32_t* v, std::size_t n) { return extremes(v, n); }
WEFT_WIDE Range<std::uint32_t> range_of(const std::uint32_t* v, std::size_t n) { return extremes(v, n); }
WEFT_WIDE Range<std::int64_t> range_of(const std::int64_t* v, std::size_t n) { return extremes(v, n); }

// Whether a value is negative, told from all of them at once.
WEFT_WIDE bool any_negative(const std::int64_t* v, std::size_t n) {
  std::int64_t all = 0;
  for (std::size_t i = 0; i < n; ++i) all |= v[i];
  return all < 0;
}

// An OpGroup as it stands on the wire: of each field that is a number its last value, as Protocol Buffers has it; of each
// column its bytes, none if it is not there.
struct WireGroup {
  static constexpr std::size_t kFields = static_cast<std::size_t>(GroupField::kListValues) + 1;
  std::array<std::uint64_t, kFields> numbers{};
  std::array<std::string_view, kFields> columns;

  [[nodiscard]] std::uint32_t uint32(GroupField f) const {
    return static_cast<std::uint32_t>(numbers[static_cast<std::size_t>(f)]);
  }
  [[nodiscard]] std::int32_t sint32(GroupField f) const {
    return sint32_of(numbers[static_cast<std::size_t>(f)]);
  }
  [[nodiscard]] std::int64_t sint64(GroupField f) const {
    return sint64_of(numbers[static_cast<std::size_t>(f)]);
  }
  [[nodiscard]] std::string_view column(GroupField f) const { return columns[static_cast<std::size_t>(f)]; }
};

constexpr std::uint32_t bit(GroupField f) { return 1u << static_cast<unsigned>(f); }
constexpr std::uint32_t kColumns = bit(GroupField::kPeers) | bit(GroupField::kTags) |
                                   bit(GroupField::kAmounts) | bit(GroupField::kRealAmounts) |
                                   bit(GroupField::kRequests) | bit(GroupField::kListSizes) |
                                   bit(GroupField::kListValues);

}  // namespace

struct BlockDecoder::Impl {
  // A group that was checked: what all of its operations have alike, and the first value of each column; null = there is none.
  struct Group {
    Op head;
    const std::int32_t* peer = nullptr;
    const std::int32_t* tag = nullptr;
    const std::int64_t* amount = nullptr;
    const std::uint32_t* request = nullptr;
    const std::uint32_t* list_size = nullptr;
    std::uint32_t list_size0 = 0;
    std::size_t next_value = 0,
                values_end = 0;  // those of its lists that no operation has taken, in `values`
    [[nodiscard]] bool has_lists() const { return list_size != nullptr || list_size0 != 0; }
  };
  // The columns of a block: of each kind as many values as there are operations at most.
  struct Columns {
    std::array<std::int32_t, kMaxBlockOps> peers, tags;
    std::array<std::int64_t, kMaxBlockOps> amounts;
    std::array<std::uint32_t, kMaxBlockOps> requests, list_sizes;
  };

  std::array<std::string_view, kMaxGroups> messages;  // of groups
  std::string joined;                                 // columns of a group that stood in pieces
  std::unique_ptr<Columns> columns = std::make_unique_for_overwrite<Columns>();
  std::vector<std::int64_t, Uninitialized<std::int64_t>> values;  // of lists
  std::array<Group, kMaxGroups> groups;
  std::array<std::uint32_t, kMaxGroups> counts{};
  std::array<std::uint32_t*, kMaxGroups> next{};  // where in `place` that of its next operation goes
  std::array<std::uint32_t, kMaxBlockOps> place;  // operations, by group: where their rows begin, in bytes
  bool has_halves = false;

  bool scan(std::string_view group, WireGroup& out);
  Result<void> prepare(const WireGroup& w, std::uint32_t begin, std::uint32_t n, const OpLimits& limits,
                       Group& g);
  Result<void> prepare_amounts(const WireGroup& w, std::uint32_t n, const OpLimits& limits, Group& g);
  Result<void> prepare_flops(const WireGroup& w, std::int64_t* amounts, std::uint32_t n, Group& g);
  void fill_rows(std::string_view group_of, std::size_t n_groups, Op* rows);
  Result<void> add_lists(Group& g, const std::uint32_t* at, std::uint32_t n, const OpLimits& limits,
                         const KernelNumbers& kernels, OpBlock& out);
};

BlockDecoder::BlockDecoder() : impl_(std::make_unique_for_overwrite<Impl>()) {}
BlockDecoder::~BlockDecoder() = default;
BlockDecoder::BlockDecoder(BlockDecoder&&) noexcept = default;
BlockDecoder& BlockDecoder::operator=(BlockDecoder&&) noexcept = default;

// False if it is malformed. Fields that are not known, and known ones of another wire type, are passed over.
bool BlockDecoder::Impl::scan(std::string_view group, WireGroup& out) {
  std::uint32_t in_pieces = 0;
  const auto each = [&](auto add) {
    WireScanner in(group);
    while (in.next()) {
      const std::uint32_t f = in.field();
      if (f >= WireGroup::kFields) continue;
      if ((kColumns >> f & 1) == 0) {
        if (in.type() == WireType::kVarint) out.numbers[f] = in.number();
        continue;
      }
      const bool real = f == static_cast<std::uint32_t>(GroupField::kRealAmounts);
      if (in.type() != WireType::kBytes && in.type() != (real ? WireType::kFixed64 : WireType::kVarint))
        continue;
      const std::string_view piece = in.value();
      if (piece.empty()) continue;
      if (real ? piece.size() % sizeof(double) != 0 : static_cast<unsigned char>(piece.back()) >= 0x80)
        return false;
      add(f, piece);
    }
    return in.ok();
  };
  const auto take = [&](std::uint32_t f, std::string_view piece) {
    if (!out.columns[f].empty()) in_pieces |= 1u << f;
    out.columns[f] = piece;
  };
  if (!each(take)) return false;
  // Where a column stands in pieces, as no writer of ours leaves it, they are joined.
  joined.clear();
  if (in_pieces != 0) joined.reserve(group.size());
  for (std::uint32_t f = 0; in_pieces >> f != 0; ++f) {
    if ((in_pieces >> f & 1) == 0) continue;
    const std::size_t begin = joined.size();
    (void)each([&](std::uint32_t field, std::string_view piece) {
      if (field == f) joined += piece;
    });
    out.columns[f] = std::string_view(joined).substr(begin);
  }
  return true;
}

Result<void> BlockDecoder::Impl::prepare(const WireGroup& w, std::uint32_t begin, std::uint32_t n,
                                         const OpLimits& limits, Group& g) {
  const std::uint32_t number = w.uint32(GroupField::kKind);
  if (number >= kOpKindCount)
    return Error{ErrorCode::kNotSupported,
                 {},
                 "the operation kind belongs to a newer version of the format",
                 std::to_string(number),
                 "a kind below " + std::to_string(kOpKindCount)};
  const std::uint32_t flags = w.uint32(GroupField::kFlags), comm = w.uint32(GroupField::kComm);
  if (flags > 255) return fault("operation flags are out of range", std::to_string(flags));
  if (comm >= limits.communicators->size())
    return fault("unknown communicator", std::to_string(comm),
                 "an id below " + std::to_string(limits.communicators->size()));
  const auto kind = static_cast<OpKind>(number);
  const KindRules& rules = rules_of(kind);
  g = {};
  g.head = {.kind = kind,
            .flags = static_cast<std::uint8_t>(flags),
            .comm = CommId(comm),
            .peer = w.sint32(GroupField::kPeer),
            .tag = w.sint32(GroupField::kTag),
            .amount = w.sint64(GroupField::kAmount)};

  // All columns are unpacked before the first is judged: one that is not whole is what is wrong with the block.
  std::uint32_t request = w.uint32(GroupField::kRequest);
  g.list_size0 = w.uint32(GroupField::kListSize);
  const auto unpacked = [&](GroupField f, auto unpack, auto& column, auto& first) {
    if (w.column(f).empty()) return Unpacked::kAll;
    first = column.data() + begin;
    return unpack(w.column(f), column.data() + begin, n);
  };
  for (const Unpacked u :
       {unpacked(GroupField::kPeers, unpack_sint32, columns->peers, g.peer),
        unpacked(GroupField::kTags, unpack_sint32, columns->tags, g.tag),
        unpacked(GroupField::kAmounts, unpack_sint64, columns->amounts, g.amount),
        unpacked(GroupField::kRequests, unpack_uint32, columns->requests, g.request),
        unpacked(GroupField::kListSizes, unpack_uint32, columns->list_sizes, g.list_size)}) {
    if (u == Unpacked::kMalformed) return no_message();
    if (u == Unpacked::kOtherCount) return other_count();
  }
  const std::string_view reals = w.column(GroupField::kRealAmounts);
  if (!reals.empty() && reals.size() != n * sizeof(double)) return other_count();

  const auto no_rank = [&](std::int32_t peer) {
    return fault("peer is not a rank of the trace", std::to_string(peer),
                 "0 to " + std::to_string(limits.ranks - 1));
  };
  const auto peers = g.peer != nullptr ? range_of(g.peer, n) : range_of(&g.head.peer, 1);
  if (peers.low < rules.least_peer || peers.high >= static_cast<std::int64_t>(limits.ranks))
    return no_rank(peers.low < rules.least_peer ? peers.low : peers.high);
  const bool sends = is_send(kind) || is_send_init(kind);
  if (sends && peers.low < 0) {  // to no process; any is for receives
    const auto all =
        g.peer != nullptr ? std::span(g.peer, n) : std::span<const std::int32_t>(&g.head.peer, 1);
    if (std::ranges::find(all, kAnySource) != all.end()) return no_rank(kAnySource);
  }
  const auto tags = g.tag != nullptr ? range_of(g.tag, n) : range_of(&g.head.tag, 1);
  if (tags.low < rules.least_tag) return fault("tag is negative", std::to_string(tags.low));
  if (rules.amount == AmountUnit::kFlops)
    WEFT_TRY(prepare_flops(w, columns->amounts.data() + begin, n, g));
  else
    WEFT_TRY(prepare_amounts(w, n, limits, g));
  const auto requests = g.request != nullptr ? range_of(g.request, n) : range_of(&request, 1);
  if (requests.high > kMaxRequestSlots || (rules.needs_request && requests.low == 0))
    return fault("request slot is missing or out of range");
  g.head.request = request - 1;  // 0 -> kNoRequest

  const std::string_view list_values = w.column(GroupField::kListValues);
  if (!list_values.empty()) {
    const std::size_t count = count_varints(list_values), used = values.size();
    if (count > kMaxValues - used) return no_message();
    values.resize(used + count);
    if (unpack_sint64(list_values, values.data() + used, count) != Unpacked::kAll) return no_message();
    g.next_value = used;
    g.values_end = used + count;
  }
  if (!g.has_lists() && list_required(kind, g.head.flags))
    return fault("the operation needs a list", std::string(op_name(kind)));
  return {};
}

Result<void> BlockDecoder::Impl::prepare_flops(const WireGroup& w, std::int64_t* amounts, std::uint32_t n,
                                               Group& g) {
  const std::string_view reals = w.column(GroupField::kRealAmounts);
  const auto bits_ok = [](std::int64_t v) {  // a finite number >= 0, or -0
    return v < std::bit_cast<std::int64_t>(std::numeric_limits<double>::infinity()) &&
           (v >= 0 || v == std::numeric_limits<std::int64_t>::min());
  };
  const auto whole_ok = [](std::int64_t v) { return v >= 0 && v < kWholeLimit; };
  if (w.uint32(GroupField::kAmountCoding) == kWholeDouble) {
    std::int64_t* const v = g.amount != nullptr ? amounts : &g.head.amount;
    const std::uint32_t count = g.amount != nullptr ? n : 1;
    if (!std::all_of(v, v + count, whole_ok)) return fault("flops are out of range");
    for (std::uint32_t i = 0; i < count; ++i) v[i] = std::bit_cast<std::int64_t>(static_cast<double>(v[i]));
    if (!reals.empty()) return fault("a column of amounts contradicts its coding");
  } else if (!reals.empty()) {
    std::memcpy(amounts, reals.data(), reals.size());
    g.amount = amounts;
    if (!std::all_of(amounts, amounts + n, bits_ok)) return fault("flops are not a finite number >= 0");
  } else {
    if (g.amount != nullptr) return fault("a column of amounts contradicts its coding");
    if (!bits_ok(g.head.amount)) return fault("flops are not a finite number >= 0");
  }
  return {};
}

Result<void> BlockDecoder::Impl::prepare_amounts(const WireGroup& w, std::uint32_t n, const OpLimits& limits,
                                                 Group& g) {
  if (!w.column(GroupField::kRealAmounts).empty() || w.uint32(GroupField::kAmountCoding) != 0)
    return fault("a column of amounts contradicts its coding");
  const AmountUnit unit = rules_of(g.head.kind).amount;
  if (unit == AmountUnit::kNone) return {};
  const std::int64_t* const v = g.amount != nullptr ? g.amount : &g.head.amount;
  const std::uint32_t count = g.amount != nullptr ? n : 1;
  const bool bounded = unit == AmountUnit::kComm || unit == AmountUnit::kRegion;
  if (!bounded && !any_negative(v, count)) return {};
  const auto amounts = range_of(v, count);
  const std::int64_t low = unit == AmountUnit::kComm ? -1 : 0;
  const auto communicators = static_cast<std::int64_t>(limits.communicators->size());
  const std::int64_t high = unit == AmountUnit::kComm     ? communicators - 1
                            : unit == AmountUnit::kRegion ? static_cast<std::int64_t>(limits.regions) - 1
                                                          : std::numeric_limits<std::int64_t>::max();
  if (amounts.low < low || amounts.high > high)
    return fault(std::string("amount of ") + std::string(op_name(g.head.kind)) + " is out of range",
                 std::to_string(amounts.low < low ? amounts.low : amounts.high));
  return {};
}

namespace {

// Writes the rows of a group: what all have alike, and over it the columns that there are. `at`: where its n rows begin, in
// bytes from `first`.
template <bool kPeer, bool kTag, bool kAmount, bool kRequest>
void fill_group(char* first, const std::uint32_t* at, std::uint32_t n, const Op& head,
                const std::int32_t* peer, const std::int32_t* tag, const std::int64_t* amount,
                const std::uint32_t* request) {
  const Op all = head;
  for (std::size_t i = 0; i < n; ++i) {
    Op& op = *reinterpret_cast<Op*>(first + at[i]);
    op = all;
    if constexpr (kPeer) op.peer = peer[i];
    if constexpr (kTag) op.tag = tag[i];
    if constexpr (kAmount) op.amount = amount[i];
    if constexpr (kRequest) op.request = request[i] - 1;
  }
}
// By which columns there are: request, amount, tag, peer, from the highest bit.
constexpr auto kFillGroup = []<std::size_t... kHas>(std::index_sequence<kHas...>) {
  return std::array{&fill_group<(kHas & 1) != 0, (kHas & 2) != 0, (kHas & 4) != 0, (kHas & 8) != 0>...};
}
(std::make_index_sequence<16>());

}  // namespace

void BlockDecoder::Impl::fill_rows(std::string_view group_of, std::size_t n_groups, Op* rows) {
  const auto put = [this, group = group_of.data()](std::size_t i) {
    *next[static_cast<unsigned char>(group[i])]++ = static_cast<std::uint32_t>(i * sizeof(Op));
  };
  std::size_t i = 0;
  for (; i + 4 <= group_of.size(); i += 4) {
    put(i);
    put(i + 1);
    put(i + 2);
    put(i + 3);
  }
  for (; i < group_of.size(); ++i) put(i);
  const std::uint32_t* at = place.data();
  for (std::size_t k = 0; k < n_groups; at += counts[k], ++k) {
    const Group& g = groups[k];
    const std::size_t has = (g.peer != nullptr ? 1 : 0) | (g.tag != nullptr ? 2 : 0) |
                            (g.amount != nullptr ? 4 : 0) | (g.request != nullptr ? 8 : 0);
    kFillGroup[has](reinterpret_cast<char*>(rows), at, counts[k], g.head, g.peer, g.tag, g.amount, g.request);
  }
}

// The lists of a group, one after the other. `at`: as fill_group() has it.
Result<void> BlockDecoder::Impl::add_lists(Group& g, const std::uint32_t* at, std::uint32_t n,
                                           const OpLimits& limits, const KernelNumbers& kernels,
                                           OpBlock& out) {
  const OpKind kind = g.head.kind;
  const std::span<const std::int64_t> all(values.data() + g.next_value, g.values_end - g.next_value);
  const bool checked = lists_requests(kind) && requests_fault(all) == nullptr;
  const std::size_t begin = out.lists.size();
  out.lists.resize(begin + all.size() + n);
  std::int64_t* to = out.lists.data() + begin;
  std::size_t taken = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t code = g.list_size != nullptr ? g.list_size[i] : g.list_size0;
    Op& op = *reinterpret_cast<Op*>(reinterpret_cast<char*>(out.ops.data()) + at[i]);
    if (code == 0) {
      if (list_required(kind, op.flags))
        return fault("the operation needs a list", std::string(op_name(kind)));
      continue;
    }
    const std::size_t size = code - 1;
    if (size > all.size() - taken) return fault("a list is longer than the values of its group");
    op.extra = static_cast<std::uint32_t>(to - out.lists.data());
    *to = static_cast<std::int64_t>(size);
    const std::span<std::int64_t> list(to + 1, size);
    std::copy_n(all.data() + taken, size, list.data());
    taken += size;
    to += size + 1;
    if (checked && size <= kMaxListValues) continue;
    if (names_kernels(kind)) WEFT_TRY(kernels.translate(op, list));
    if (const char* f = list_fault(op, list, limits)) return fault(f, std::string(op_name(kind)));
  }
  out.lists.resize(static_cast<std::size_t>(to - out.lists.data()));
  g.next_value += taken;
  return {};
}

bool BlockDecoder::has_halves() const { return impl_->has_halves; }

Result<void> BlockDecoder::decode(std::string_view raw, std::uint32_t ops, const OpLimits& limits,
                                  const KernelNumbers& kernels, OpBlock& out) {
  Impl& d = *impl_;
  out.lists.clear();  // not its rows, which are written over: to clear each of them would cost as much
  if (ops == 0) return fault("the block has no operation");
  if (raw.size() > format::kMaxBlockBytes) return no_message();
  std::string_view group_of;
  std::size_t n_groups = 0;
  WireScanner in(raw);
  while (in.next()) {
    if (in.type() != WireType::kBytes) continue;
    if (in.field() == static_cast<std::uint32_t>(BlockField::kGroupOf)) group_of = in.bytes();
    if (in.field() != static_cast<std::uint32_t>(BlockField::kGroups)) continue;
    if (n_groups == kMaxGroups) return no_message();
    d.messages[n_groups++] = in.bytes();
  }
  if (!in.ok()) return no_message();
  if (ops > kMaxBlockOps || group_of.size() != ops)
    return fault("the block does not hold as many operations as its header says",
                 std::to_string(group_of.size()), std::to_string(ops));
  d.counts.fill(0);
#pragma GCC unroll 8
  for (const char g : group_of) ++d.counts[static_cast<unsigned char>(g)];
  if (std::accumulate(d.counts.begin(), d.counts.begin() + n_groups, std::uint32_t{0}) != ops)
    return fault("an operation names a group that the block does not define",
                 std::to_string(static_cast<unsigned char>(*std::ranges::find_if(
                     group_of, [&](char g) { return static_cast<unsigned char>(g) >= n_groups; }))));
  d.values.clear();
  d.has_halves = false;
  std::uint32_t begin = 0;
  for (std::size_t k = 0; k < n_groups; ++k) {
    if (d.counts[k] == 0)
      return fault("the block defines a group that no operation names", std::to_string(k));
    WireGroup w;
    if (!d.scan(d.messages[k], w)) return no_message();
    WEFT_TRY(d.prepare(w, begin, d.counts[k], limits, d.groups[k]));
    d.has_halves |= d.groups[k].head.kind == OpKind::sendrecv || is_receive_half(d.groups[k].head);
    d.next[k] = d.place.data() + begin;
    begin += d.counts[k];
  }
  out.ops.resize(ops);
  d.fill_rows(group_of, n_groups, out.ops.data());
  const std::uint32_t* at = d.place.data();
  for (std::size_t k = 0; k < n_groups; at += d.counts[k], ++k) {
    Impl::Group& g = d.groups[k];
    if (g.has_lists()) WEFT_TRY(d.add_lists(g, at, d.counts[k], limits, kernels, out));
    if (g.next_value != g.values_end) return fault("a group has list values left over");
  }
  return {};
}

}  // namespace weft::traces
