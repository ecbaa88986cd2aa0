#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "traces/weft/block_codec.hpp"
#include "traces/weft/block_fields.hpp"
#include "traces/weft/format.hpp"
#include "traces/weft/wire.hpp"

// What is written is what Protocol Buffers would serialize, byte for byte: fields in the order of their numbers, no field
// that is zero, columns packed.
namespace weft::traces {
namespace {

std::uint64_t group_key(const Op& op) {
  return static_cast<std::uint64_t>(op.kind) | static_cast<std::uint64_t>(op.flags) << 8 |
         static_cast<std::uint64_t>(op.comm.index()) << 16;
}

bool is_whole(const Op& op) {
  const double v = op.flops();
  return v >= 0 && v < static_cast<double>(kWholeLimit) && v == std::floor(v) && !std::signbit(v);
}

std::uint32_t list_code(const OpBlock& b, const Op& op) {
  return op.extra == kNoList ? 0u : static_cast<std::uint32_t>(b.list(op).size()) + 1;
}

// Six columns of one operation, and the values of its list.
std::size_t most_bytes(const OpBlock& b, const Op& op) { return (6 + b.list(op).size()) * kMostVarintBytes; }
constexpr std::size_t kMostBytesOfGroups = kMaxGroups * 64;  // constants

template <class Field>
void put_tag(std::string& out, Field field, WireType type) {
  std::array<char, kMostVarintBytes> bytes;
  const std::uint64_t tag = static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type);
  out.append(bytes.data(), put_varint(bytes.data(), tag));
}
void put_number(std::string& out, GroupField field, std::uint64_t v) {
  if (v == 0) return;
  put_tag(out, field, WireType::kVarint);
  std::array<char, kMostVarintBytes> bytes;
  out.append(bytes.data(), put_varint(bytes.data(), v));
}
template <class Field>
void put_bytes(std::string& out, Field field, std::string_view content) {
  put_tag(out, field, WireType::kBytes);
  std::array<char, kMostVarintBytes> bytes;
  out.append(bytes.data(), put_varint(bytes.data(), content.size()));
  out += content;
}

}  // namespace

struct BlockEncoder::Impl {
  // A column while it is filled; empty = the field is a constant.
  struct Column {
    char* begin = nullptr;
    char* at = nullptr;
    void put(std::uint64_t v) { at = put_varint(at, v); }
    [[nodiscard]] std::string_view bytes() const { return {begin, at}; }
  };
  struct Group {
    std::uint64_t key = 0;
    Op first;
    std::uint32_t first_list = 0;
    std::uint32_t count = 0;
    bool peers = false, tags = false, amounts = false, requests = false, lists = false;
    bool whole = true;
    bool flops = false;
    std::size_t values = 0;  // of lists
    Column peer, tag, amount, request, list_size, list_value;
  };
  std::vector<Group> groups;
  std::array<std::uint8_t, kOpKindCount>
      last_group{};           // of each kind: most operations repeat its flags and comm
  std::string group_of;       // of each operation
  std::string group;          // one, serialized
  std::vector<char> columns;  // the bytes of all of them

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

  // Gives each column that is one room for all of its values.
  void make_columns() {
    constexpr std::size_t kMost = kMostVarintBytes;
    std::size_t size = 0;
    for (const Group& g : groups)
      size += kMost * (g.values + g.count * static_cast<std::size_t>(g.peers + g.tags + g.amounts +
                                                                     g.requests + g.lists));
    if (columns.size() < size) columns.resize(size);
    char* at = columns.data();
    for (Group& g : groups) {
      const auto make = [&](Column& c, bool is_one, std::size_t n) {
        if (!is_one) return;
        c.begin = c.at = at;
        at += kMost * n;
      };
      make(g.peer, g.peers, g.count);
      make(g.tag, g.tags, g.count);
      make(g.amount, g.amounts, g.count);
      make(g.request, g.requests, g.count);
      make(g.list_size, g.lists, g.count);
      make(g.list_value, g.values > 0, g.values);
    }
  }

  void fill_columns(const OpBlock& b, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Op& op = b.ops[i];
      Group& g = groups[static_cast<unsigned char>(group_of[i - begin])];
      if (g.peers) g.peer.put(zigzag(op.peer));
      if (g.tags) g.tag.put(zigzag(op.tag));
      if (g.amounts && g.flops && !g.whole) {
        std::memcpy(g.amount.at, &op.amount, sizeof op.amount);
        g.amount.at += sizeof op.amount;
      } else if (g.amounts) {
        g.amount.put(zigzag(g.flops ? static_cast<std::int64_t>(op.flops()) : op.amount));
      }
      if (g.requests) g.request.put(op.request + 1);
      if (g.lists) g.list_size.put(list_code(b, op));
      if (g.values > 0)
        for (const std::int64_t v : b.list(op)) g.list_value.put(zigzag(v));
    }
  }

  void serialize(const Group& g) {
    group.clear();
    const bool whole = g.flops && g.whole;
    put_number(group, GroupField::kKind, static_cast<std::uint64_t>(g.first.kind));
    put_number(group, GroupField::kFlags, g.first.flags);
    put_number(group, GroupField::kComm, g.first.comm.index());
    if (g.peers)
      put_bytes(group, GroupField::kPeers, g.peer.bytes());
    else
      put_number(group, GroupField::kPeer, zigzag(g.first.peer));
    if (g.tags)
      put_bytes(group, GroupField::kTags, g.tag.bytes());
    else
      put_number(group, GroupField::kTag, zigzag(g.first.tag));
    put_number(group, GroupField::kAmountCoding, whole ? kWholeDouble : 0);
    if (g.amounts)
      put_bytes(group, g.flops && !whole ? GroupField::kRealAmounts : GroupField::kAmounts, g.amount.bytes());
    else
      put_number(group, GroupField::kAmount,
                 zigzag(whole ? static_cast<std::int64_t>(g.first.flops()) : g.first.amount));
    if (g.requests)
      put_bytes(group, GroupField::kRequests, g.request.bytes());
    else
      put_number(group, GroupField::kRequest, g.first.request + 1);
    if (g.lists)
      put_bytes(group, GroupField::kListSizes, g.list_size.bytes());
    else
      put_number(group, GroupField::kListSize, g.first_list);
    if (g.values > 0) put_bytes(group, GroupField::kListValues, g.list_value.bytes());
  }
};

BlockEncoder::BlockEncoder() : impl_(std::make_unique<Impl>()) {}
BlockEncoder::~BlockEncoder() = default;
BlockEncoder::BlockEncoder(BlockEncoder&&) noexcept = default;
BlockEncoder& BlockEncoder::operator=(BlockEncoder&&) noexcept = default;

std::size_t BlockEncoder::encode(const OpBlock& b, std::size_t begin, std::string& out, std::size_t most) {
  WEFT_CHECK(begin < b.ops.size(), "encode past the end of a block");
  // Pass 1: groups, and which of their fields vary.
  auto& groups = impl_->groups;
  auto& group_of = impl_->group_of;
  groups.clear();
  group_of.clear();
  std::size_t budget = format::kMaxBlockBytes - kMostBytesOfGroups;
  std::size_t end = begin;
  for (; end < b.ops.size() && end - begin < std::min(most, kMaxBlockOps); ++end) {
    const Op& op = b.ops[end];
    const std::size_t cost = most_bytes(b, op);
    WEFT_CHECK(cost <= format::kMaxBlockBytes - kMostBytesOfGroups,
               "the list of one operation exceeds a block");
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
    if (code > 1) g.values += code - 1;
    if (g.flops) g.whole = g.whole && is_whole(op);
    ++g.count;
    group_of.push_back(static_cast<char>(at));
  }
  // Pass 2: constants and columns.
  impl_->make_columns();
  impl_->fill_columns(b, begin, end);
  out.clear();
  put_bytes(out, BlockField::kGroupOf, group_of);
  for (const auto& g : groups) {
    impl_->serialize(g);
    put_bytes(out, BlockField::kGroups, impl_->group);
  }
  return end;
}

}  // namespace weft::traces
