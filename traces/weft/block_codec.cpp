#include "traces/weft/block_codec.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "traces/weft/format.hpp"
#include "traces/weft/trace.pb.h"
#include "traces/weft/wire.hpp"

// A block of five operations of rank 0, as columns (message OpBlock of trace.proto):
//   isend 1 tag 7 800 B request 0                         group_of 0 0 1 1 2: which group each is of
//   isend 2 tag 7 900 B request 1        groups[0]  kind isend, tag 7, peers 1 2, amounts 800 900, requests 1 2
//   compute 2e9 flops                    groups[1]  kind compute_flops, WHOLE_DOUBLE, amounts 2000000000 3000000000
//   compute 3e9 flops                    groups[2]  kind waitall, list_size 3, list_values 0 1
//   waitall {0, 1}
// Operations with the same kind, flags and communicator are a group. A field is a constant ("tag 7") where all of a
// group have the same value, else a column ("peers 1 2"). Requests and sizes of lists are stored plus one: 0 is none.
namespace weft::traces {
namespace {

constexpr std::size_t kMaxGroups = 256;
constexpr std::size_t kBytesPerValue = 10;          // of a varint, at most
constexpr double kWholeLimit = 9007199254740992.0;  // 2^53

std::uint64_t group_key(const Op& op) {
  return static_cast<std::uint64_t>(op.kind) | static_cast<std::uint64_t>(op.flags) << 8 |
         static_cast<std::uint64_t>(op.comm.index()) << 16;
}

bool is_whole(const Op& op) {
  const double v = op.flops();
  return v >= 0 && v < kWholeLimit && v == std::floor(v) && !std::signbit(v);
}

std::uint32_t list_code(const OpBlock& b, const Op& op) {
  return op.extra == kNoList ? 0u : static_cast<std::uint32_t>(b.list(op).size()) + 1;
}

}  // namespace

struct BlockEncoder::Impl {
  struct Group {
    std::uint64_t key = 0;
    Op first;
    std::uint32_t first_list = 0;
    std::uint32_t count = 0;
    bool peers = false, tags = false, amounts = false, requests = false, lists = false;
    bool has_values = false;
    bool whole = true;
    bool flops = false;
  };
  // Where the next value of each column goes; null = the field is a constant.
  struct Columns {
    std::int32_t* peer = nullptr;
    std::int32_t* tag = nullptr;
    std::int64_t* amount = nullptr;
    std::int64_t* whole = nullptr;
    double* real = nullptr;
    std::uint32_t* request = nullptr;
    std::uint32_t* list_size = nullptr;
    google::protobuf::RepeatedField<std::int64_t>* values = nullptr;
  };
  pb::OpBlock message;
  std::vector<Group> groups;
  std::array<Columns, kMaxGroups> columns{};
  std::array<std::uint8_t, kOpKindCount>
      last_group{};  // of each kind: most operations repeat its flags and comm

  std::size_t find_or_add(const OpBlock& b, const Op& op) {
    const std::uint64_t key = group_key(op);
    std::uint8_t& last = last_group[static_cast<std::size_t>(op.kind)];
    if (last < groups.size() && groups[last].key == key) return last;
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (groups[g].key == key) return last = static_cast<std::uint8_t>(g);
    if (groups.size() == kMaxGroups) return kMaxGroups;
    Group g;
    g.key = key;
    g.first = op;
    g.first_list = list_code(b, op);
    g.flops = rules_of(op.kind).amount == AmountUnit::kFlops;
    groups.push_back(g);
    return last = static_cast<std::uint8_t>(groups.size() - 1);
  }
};

BlockEncoder::BlockEncoder() : impl_(std::make_unique<Impl>()) {}
BlockEncoder::~BlockEncoder() = default;
BlockEncoder::BlockEncoder(BlockEncoder&&) noexcept = default;
BlockEncoder& BlockEncoder::operator=(BlockEncoder&&) noexcept = default;

std::size_t BlockEncoder::encode(const OpBlock& b, std::size_t begin, std::string& out, std::size_t most) {
  WEFT_CHECK(begin < b.ops.size(), "encode past the end of a block");
  // Pass 1: groups, and which of their fields vary. A value costs at most 10 bytes; operations have at
  // most 5.
  auto& groups = impl_->groups;
  auto& m = impl_->message;
  groups.clear();
  m.Clear();
  std::string& group_of = *m.mutable_group_of();
  std::size_t budget = format::kMaxBlockBytes - kMaxGroups * 64;
  std::size_t end = begin;
  for (; end < b.ops.size() && end - begin < std::min(most, kMaxBlockOps); ++end) {
    const Op& op = b.ops[end];
    const std::size_t cost = (6 + b.list(op).size()) * kBytesPerValue;
    WEFT_CHECK(cost <= format::kMaxBlockBytes - kMaxGroups * 64, "the list of one operation exceeds a block");
    if (cost > budget) break;
    const std::size_t at = impl_->find_or_add(b, op);
    if (at == kMaxGroups) break;
    budget -= cost;
    auto& g = groups[at];
    g.peers |= op.peer != g.first.peer;
    g.tags |= op.tag != g.first.tag;
    g.amounts |= op.amount != g.first.amount;
    g.requests |= op.request != g.first.request;
    const std::uint32_t code = list_code(b, op);
    g.lists |= code != g.first_list;
    g.has_values |= code > 1;
    if (g.flops) g.whole = g.whole && is_whole(op);
    ++g.count;
    group_of.push_back(static_cast<char>(at));
  }
  // Pass 2: constants and columns.
  for (const auto& g : groups) {
    auto& pg = *m.add_groups();
    pg.set_kind(static_cast<std::uint32_t>(g.first.kind));
    pg.set_flags(g.first.flags);
    pg.set_comm(g.first.comm.index());
    const bool flops = g.flops;
    const bool whole = flops && g.whole;
    if (whole) pg.set_amount_coding(pb::OpGroup::WHOLE_DOUBLE);
    // Columns are made in full and filled through pointers below.
    const auto n = static_cast<int>(g.count);
    auto& to = impl_->columns[static_cast<std::size_t>(m.groups_size()) - 1];
    to = {};
    const auto make = [n](auto* column) {
      column->Resize(n, 0);
      return column->mutable_data();
    };
    if (g.peers)
      to.peer = make(pg.mutable_peers());
    else
      pg.set_peer(g.first.peer);
    if (g.tags)
      to.tag = make(pg.mutable_tags());
    else
      pg.set_tag(g.first.tag);
    if (!g.amounts)
      pg.set_amount(whole ? static_cast<std::int64_t>(g.first.flops()) : g.first.amount);
    else if (flops && !whole)
      to.real = make(pg.mutable_real_amounts());
    else if (whole)
      to.whole = make(pg.mutable_amounts());
    else
      to.amount = make(pg.mutable_amounts());
    if (g.requests)
      to.request = make(pg.mutable_requests());
    else
      pg.set_request(g.first.request + 1);
    if (g.lists)
      to.list_size = make(pg.mutable_list_sizes());
    else
      pg.set_list_size(g.first_list);
    if (g.has_values) to.values = pg.mutable_list_values();
  }
  for (std::size_t i = begin; i < end; ++i) {
    const Op& op = b.ops[i];
    auto& to = impl_->columns[static_cast<unsigned char>(group_of[i - begin])];
    if (to.peer != nullptr) *to.peer++ = op.peer;
    if (to.tag != nullptr) *to.tag++ = op.tag;
    if (to.amount != nullptr) *to.amount++ = op.amount;
    if (to.whole != nullptr) *to.whole++ = static_cast<std::int64_t>(op.flops());
    if (to.real != nullptr) *to.real++ = op.flops();
    if (to.request != nullptr) *to.request++ = op.request + 1;
    if (to.list_size != nullptr) *to.list_size++ = list_code(b, op);
    if (to.values != nullptr)
      for (const std::int64_t v : b.list(op)) to.values->Add(v);
  }
  m.SerializeToString(&out);
  return end;
}

// ---------------------------------------------------------------------------------------------------------------

namespace {

Error fault(std::string what, std::string got = {}, std::string expected = {}) {
  return bad_input({}, std::move(what), std::move(got), std::move(expected));
}

template <class T>
struct Range {
  T low;
  T high;
};
template <class T>
Range<T> range_of(const T* v, std::size_t n) {
  Range<T> r{v[0], v[0]};
  for (std::size_t i = 1; i < n; ++i) {
    r.low = v[i] < r.low ? v[i] : r.low;
    r.high = v[i] > r.high ? v[i] : r.high;
  }
  return r;
}

// False for what cannot be a block, told from the bytes alone: a parser would make an object of each of eight million
// groups before anyone could count them.
bool worth_building(std::string_view raw) {
  constexpr std::size_t kAlwaysFits = 1u << 20;  // bytes of columns: at most as many values
  constexpr std::uint64_t kMaxValues = format::kMaxBlockBytes / kBytesPerValue;
  // Of all groups together: six columns of an operation each, the one of doubles counted by its bytes, and constants.
  constexpr std::uint64_t kMaxColumns = 16 * kMaxBlockOps;
  std::uint64_t groups = 0, columns = 0, values = 0;
  WireScanner block(raw);
  while (block.next()) {
    if (block.field() != pb::OpBlock::kGroupsFieldNumber) continue;
    if (++groups > kMaxGroups) return false;
    if (raw.size() <= kAlwaysFits) continue;
    WireScanner group(block.bytes());
    while (group.next())
      (group.field() == pb::OpGroup::kListValuesFieldNumber ? values : columns) += group.varints();
    if (!group.ok() || columns > kMaxColumns || values > kMaxValues) return false;
  }
  return block.ok();
}

}  // namespace

struct BlockDecoder::Impl {
  // Where the first value of each field of a group stands. A constant is a column that does not advance.
  struct Cursor {
    const std::int32_t* peer = nullptr;
    const std::int32_t* tag = nullptr;
    const std::int64_t* amount = nullptr;
    const std::uint32_t* request = nullptr;
    std::uint32_t peer_step = 0, tag_step = 0, amount_step = 0, request_step = 0;
    Op head;  // what all of the group have alike
    bool lists = false;
    const std::uint32_t* list_size = nullptr;
    std::uint32_t list_size_step = 0;
    const std::int64_t* values = nullptr;
    const std::int64_t* values_end = nullptr;
    // Constants.
    std::int32_t peer0 = 0, tag0 = 0;
    std::int64_t amount0 = 0;
    std::uint32_t request0 = 0, list_size0 = 0;
  };

  pb::OpBlock message;
  std::array<Cursor, kMaxGroups> cursors;
  std::array<std::uint32_t, kMaxGroups> counts{};
  std::array<Op, kMaxGroups> heads;  // an operation of each group, with the constants of the group
  std::array<std::uint32_t, kMaxGroups> next{};  // place of its next operation in `place`
  std::vector<std::uint16_t> place;              // operations, by group
  std::vector<Op> rows = std::vector<Op>(kMaxBlockOps);

  Result<void> prepare(pb::OpGroup& g, std::uint32_t n, const OpLimits& limits, Cursor& c);
};

BlockDecoder::BlockDecoder() : impl_(std::make_unique<Impl>()) {}
BlockDecoder::~BlockDecoder() = default;
BlockDecoder::BlockDecoder(BlockDecoder&&) noexcept = default;
BlockDecoder& BlockDecoder::operator=(BlockDecoder&&) noexcept = default;

Result<void> BlockDecoder::Impl::prepare(pb::OpGroup& g, std::uint32_t n, const OpLimits& limits, Cursor& c) {
  if (g.kind() >= kOpKindCount)
    return Error{ErrorCode::kNotSupported,
                 {},
                 "the operation kind belongs to a newer version of the format",
                 std::to_string(g.kind()),
                 "a kind below " + std::to_string(kOpKindCount)};
  if (g.flags() > 255) return fault("operation flags are out of range", std::to_string(g.flags()));
  if (g.comm() >= limits.communicators->size())
    return fault("unknown communicator", std::to_string(g.comm()),
                 "an id below " + std::to_string(limits.communicators->size()));
  const auto kind = static_cast<OpKind>(g.kind());
  const KindRules rules = rules_of(kind);
  const auto column_ok = [n](int size) { return size == 0 || size == static_cast<int>(n); };
  if (!column_ok(g.peers_size()) || !column_ok(g.tags_size()) || !column_ok(g.amounts_size()) ||
      !column_ok(g.real_amounts_size()) || !column_ok(g.requests_size()) || !column_ok(g.list_sizes_size()))
    return fault("a column has not one value for each operation of its group");
  c.head.kind = kind;
  c.head.flags = static_cast<std::uint8_t>(g.flags());
  c.head.comm = CommId(g.comm());

  c.peer0 = g.peer();
  c.peer_step = g.peers_size() > 0;
  c.peer = c.peer_step != 0 ? g.peers().data() : &c.peer0;
  const auto peers = range_of(c.peer, c.peer_step != 0 ? n : 1);
  if (peers.low < rules.least_peer || peers.high >= static_cast<std::int64_t>(limits.ranks))
    return fault("peer is not a rank of the trace",
                 std::to_string(peers.low < rules.least_peer ? peers.low : peers.high),
                 "0 to " + std::to_string(limits.ranks - 1));

  c.tag0 = g.tag();
  c.tag_step = g.tags_size() > 0;
  c.tag = c.tag_step != 0 ? g.tags().data() : &c.tag0;
  const auto tags = range_of(c.tag, c.tag_step != 0 ? n : 1);
  if (tags.low < rules.least_tag) return fault("tag is negative", std::to_string(tags.low));

  if (rules.amount == AmountUnit::kFlops) {
    const bool whole = g.amount_coding() == pb::OpGroup::WHOLE_DOUBLE;
    c.amount_step = g.amounts_size() > 0 || g.real_amounts_size() > 0;
    const auto real_ok = [](double v) { return v >= 0 && std::isfinite(v); };
    if (whole) {
      auto* values = g.amounts_size() > 0 ? g.mutable_amounts()->mutable_data() : &c.amount0;
      c.amount0 = g.amount();
      for (std::uint32_t i = 0; i < (c.amount_step != 0 ? n : 1); ++i) {
        if (values[i] < 0 || values[i] >= (std::int64_t{1} << 53)) return fault("flops are out of range");
        values[i] = std::bit_cast<std::int64_t>(static_cast<double>(values[i]));
      }
      c.amount = values;
      if (g.real_amounts_size() > 0) return fault("a column of amounts contradicts its coding");
    } else if (g.real_amounts_size() > 0) {
      if (!std::all_of(g.real_amounts().begin(), g.real_amounts().end(), real_ok))
        return fault("flops are not a finite number >= 0");
      g.mutable_amounts()->Resize(static_cast<int>(n), 0);
      std::memcpy(g.mutable_amounts()->mutable_data(), g.real_amounts().data(), n * sizeof(double));
      c.amount = g.amounts().data();
    } else {
      if (g.amounts_size() > 0) return fault("a column of amounts contradicts its coding");
      c.amount0 = g.amount();
      if (!real_ok(std::bit_cast<double>(c.amount0))) return fault("flops are not a finite number >= 0");
      c.amount = &c.amount0;
    }
  } else {
    if (g.real_amounts_size() > 0 || g.amount_coding() != pb::OpGroup::INTEGER)
      return fault("a column of amounts contradicts its coding");
    c.amount0 = g.amount();
    c.amount_step = g.amounts_size() > 0;
    c.amount = c.amount_step != 0 ? g.amounts().data() : &c.amount0;
    const auto amounts = range_of(c.amount, c.amount_step != 0 ? n : 1);
    std::int64_t low = 0;
    std::int64_t high = std::numeric_limits<std::int64_t>::max();
    if (rules.amount == AmountUnit::kNone) low = std::numeric_limits<std::int64_t>::min();
    if (rules.amount == AmountUnit::kComm) {
      low = -1;
      high = static_cast<std::int64_t>(limits.communicators->size()) - 1;
    }
    if (rules.amount == AmountUnit::kRegion) high = static_cast<std::int64_t>(limits.regions) - 1;
    if (amounts.low < low || amounts.high > high)
      return fault(std::string("amount of ") + std::string(op_name(kind)) + " is out of range",
                   std::to_string(amounts.low < low ? amounts.low : amounts.high));
  }

  c.request0 = g.request();
  c.request_step = g.requests_size() > 0;
  c.request = c.request_step != 0 ? g.requests().data() : &c.request0;
  const auto requests = range_of(c.request, c.request_step != 0 ? n : 1);
  if (requests.high > kMaxRequestSlots || (rules.needs_request && requests.low == 0))
    return fault("request slot is missing or out of range");

  c.list_size0 = g.list_size();
  c.list_size_step = g.list_sizes_size() > 0;
  c.list_size = c.list_size_step != 0 ? g.list_sizes().data() : &c.list_size0;
  c.lists = c.list_size_step != 0 || c.list_size0 != 0;
  c.values = g.list_values().data();
  c.values_end = c.values + g.list_values_size();
  if (!c.lists && list_required(kind, static_cast<std::uint8_t>(g.flags())))
    return fault("the operation needs a list", std::string(op_name(kind)));
  return {};
}

Result<void> BlockDecoder::decode(std::string_view raw, std::uint32_t ops, const OpLimits& limits,
                                  const KernelNumbers& kernels, OpBlock& out) {
  auto& m = impl_->message;
  out.clear();
  if (ops == 0) return fault("the block has no operation");
  if (raw.size() > format::kMaxBlockBytes || !worth_building(raw) ||
      !m.ParseFromArray(raw.data(), static_cast<int>(raw.size())))
    return fault("the block is not an OpBlock message");
  const std::string& group_of = m.group_of();
  const auto n_groups = static_cast<std::size_t>(m.groups_size());
  if (ops > kMaxBlockOps || group_of.size() != ops || n_groups > kMaxGroups)
    return fault("the block does not hold as many operations as its header says",
                 std::to_string(group_of.size()), std::to_string(ops));
  auto& counts = impl_->counts;
  counts.fill(0);
  for (const char g : group_of) ++counts[static_cast<unsigned char>(g)];
  for (std::size_t g = n_groups; g < kMaxGroups; ++g)
    if (counts[g] != 0)
      return fault("an operation names a group that the block does not define", std::to_string(g));
  for (std::size_t g = 0; g < n_groups; ++g) {
    if (counts[g] == 0) return fault("the block defines a group that no operation names", std::to_string(g));
    WEFT_TRY(impl_->prepare(*m.mutable_groups(static_cast<int>(g)), counts[g], limits, impl_->cursors[g]));
  }
  // What all of a group have alike first, row by row; then each column for itself, so that only what varies costs more.
  auto& heads = impl_->heads;
  auto& next = impl_->next;
  auto& place = impl_->place;
  place.resize(ops);
  bool lists = false;
  std::uint32_t begin = 0;
  for (std::size_t g = 0; g < n_groups; ++g) {
    const Impl::Cursor& c = impl_->cursors[g];
    heads[g] = c.head;
    heads[g].peer = *c.peer;
    heads[g].tag = *c.tag;
    heads[g].amount = *c.amount;
    heads[g].request = *c.request - 1;  // 0 -> kNoRequest
    lists = lists || c.lists;
    next[g] = begin;
    begin += counts[g];
  }
  // Not in `out`, whose rows would be cleared one by one before they are written.
  Op* const rows = impl_->rows.data();
  for (std::uint32_t i = 0; i < ops; ++i) {
    const auto g = static_cast<unsigned char>(group_of[i]);
    rows[i] = heads[g];
    place[next[g]++] = static_cast<std::uint16_t>(i);
  }
  for (std::size_t g = 0; g < n_groups; ++g) {
    const Impl::Cursor& c = impl_->cursors[g];
    const std::uint32_t n = counts[g];
    const std::uint16_t* const at = place.data() + (next[g] - n);
    const auto each = [&](auto set) {
      for (std::uint32_t k = 0; k < n; ++k) set(rows[at[k]], k);
    };
    if (c.peer_step != 0) each([v = c.peer](Op& op, std::uint32_t k) { op.peer = v[k]; });
    if (c.tag_step != 0) each([v = c.tag](Op& op, std::uint32_t k) { op.tag = v[k]; });
    if (c.amount_step != 0) each([v = c.amount](Op& op, std::uint32_t k) { op.amount = v[k]; });
    if (c.request_step != 0) each([v = c.request](Op& op, std::uint32_t k) { op.request = v[k] - 1; });
  }
  for (std::uint32_t i = 0; lists && i < ops; ++i) {
    Impl::Cursor& c = impl_->cursors[static_cast<unsigned char>(group_of[i])];
    Op* const o = rows + i;
    if (!c.lists) continue;
    const std::uint32_t code = *c.list_size;
    c.list_size += c.list_size_step;
    if (code != 0) {
      if (code - 1 > static_cast<std::size_t>(c.values_end - c.values))
        return fault("a list is longer than the values of its group");
      const std::span<const std::int64_t> values(c.values, code - 1);
      o->extra = out.add_list(values);
      c.values += code - 1;
      if (names_kernels(o->kind))
        WEFT_TRY(kernels.translate(*o, std::span(out.lists).subspan(o->extra + 1, values.size())));
      if (const char* f = list_fault(*o, out.list(*o), limits))
        return fault(f, std::string(op_name(o->kind)));
    } else if (list_required(o->kind, o->flags)) {
      return fault("the operation needs a list", std::string(op_name(o->kind)));
    }
  }
  out.ops.assign(rows, rows + ops);
  for (std::size_t g = 0; g < n_groups; ++g)
    if (impl_->cursors[g].values != impl_->cursors[g].values_end)
      return fault("a group has list values left over");
  return {};
}

}  // namespace weft::traces
