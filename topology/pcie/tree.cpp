#include "topology/pcie/tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/quantity_text.hpp"
#include "topology/pcie/link_rate.hpp"

namespace weft::topology {
namespace {

constexpr std::array<std::string_view, 1> kTreeRoutings = {kPcieRouting};
constexpr std::array<ParamInfo, 23> kParams = {{
    {"sockets", "1", "root complexes; several are joined by an inter-socket link"},
    {"switches", "2", "switches on the root ports of a socket; 0: cards sit on the root ports"},
    {"cards", "2", "cards on each switch (on each socket where switches=0)"},
    {"gpus", "2", "GPUs of a card; two and more share an on-board switch"},
    {"tree", "by the keys above", "any other tree, like rc(switch(2*card(2*gpu) nic@4x8) gpu mem)"},
    {"gen", "3", "generation 1 to 6; a list joined by x gives one per level: gpu, card, root"},
    {"width", "16", "lanes 1, 2, 4, 8 or 16; a list as for gen"},
    {"mps", "256", "largest packet payload in bytes: 128 to 4096; sets the bandwidth with gen and width"},
    {"payload", "full packets", "size of the writes, like 64B, where they are smaller than a packet"},
    {"tau", "21/121", "part of a port's rate that crossing the root complex costs where it meets others"},
    {"bw", "by gen and width", "bandwidth of a PCIe link and direction; a list gives gpu, card, root"},
    {"down_bw", "that of bw", "bandwidth from the root towards a GPU, where it is another; a list as for bw"},
    {"both_bw", "no limit", "bandwidth of both directions of a link together; a list as for bw"},
    {"lat", "150ns", "latency of a PCIe link; a list gives gpu, card, root"},
    {"isl_bw", "bw of a root port", "bandwidth from a socket to the inter-socket link, each direction"},
    {"isl_lat", "150ns", "latency of the same"},
    {"nics", "0; under a network 1", "network cards"},
    {"nic", "root", "where they sit: root (a port of their own) or switch (beside the cards)"},
    {"nic_bw", "that of a root port", "bandwidth of a network card's PCIe link"},
    {"mem", "off", "on: the host memory of each socket is an endpoint"},
    {"mem_bw", "64GB/s", "bandwidth of a socket's memory, each direction"},
    {"mem_both_bw", "no limit", "bandwidth of reads and writes of a socket's memory together"},
    kRoutingParam<kTreeRoutings>,
}};

constexpr std::int64_t kMaxTreeSockets = 64, kMaxChildren = 256;

// One value for all levels, or one per level.
Result<std::vector<std::uint64_t>> per_level(const Params& p, std::string_view key, std::size_t levels,
                                             std::uint64_t fallback, std::span<const std::uint64_t> legal) {
  std::vector<std::uint64_t> out(levels, fallback);
  if (!p.has(key)) return out;
  Params bare = p;  // "x16" is how a width is written on a slot
  if (const Params::Entry e = *p.find(key); e.value.starts_with('x'))
    bare.set(e.key, e.value.substr(1), e.where);
  WEFT_ASSIGN(out, bare.list(key, 0, levels, 1, 1 << 16));
  if (out.size() == 1) out.assign(levels, out[0]);
  if (out.size() != levels)
    return p.error(key, fmt::format("{} has {} values", key, out.size()),
                   fmt::format("1 or {} values", levels));
  for (const std::uint64_t v : out)
    if (std::find(legal.begin(), legal.end(), v) == legal.end()) {
      std::string names;
      for (const std::uint64_t l : legal) names += fmt::format("{}{}", names.empty() ? "one of " : ", ", l);
      return p.error(key, fmt::format("no such {}", key), names);
    }
  return out;
}

constexpr std::array<std::uint64_t, 6> kGenerations = {1, 2, 3, 4, 5, 6};
constexpr std::array<std::uint64_t, 5> kWidths = {1, 2, 4, 8, 16};

// Largest packet and size of the writes.
Result<PcieLinkKind> packet_sizes(const Params& p) {
  constexpr std::array<std::uint64_t, 6> kPayloads = {128, 256, 512, 1024, 2048, 4096};
  WEFT_ASSIGN(const auto mps, per_level(p, "mps", 1, 256, kPayloads));
  PcieLinkKind kind;
  kind.mps = static_cast<std::uint32_t>(mps[0]);
  if (const Params::Entry* e = p.find("payload")) {
    WEFT_ASSIGN(const Bytes b, parse_bytes(e->value, fmt::format("{}: payload", e->where)));
    if (b.value() <= 0 || b.value() > (std::int64_t{1} << 40))
      return p.error("payload", "a write of no bytes or far too many", "1B to 1TiB");
    kind.payload = static_cast<std::uint64_t>(b.value());
  }
  return kind;
}

// One bandwidth for all levels, or one for each; nothing where the key is not set.
template <class Assign>
Result<void> read_levels(const Params& p, std::string_view key, const std::vector<std::string_view>& levels,
                         Assign assign) {
  const Params::Entry* e = p.find(key);
  if (e == nullptr) return {};
  const auto parts = split(e->value, 'x');
  if (parts.size() != 1 && parts.size() != levels.size())
    return p.error(key, fmt::format("{} has {} values", key, parts.size()),
                   fmt::format("1 or {} values", levels.size()));
  for (std::size_t i = 0; i < levels.size(); ++i) {
    WEFT_ASSIGN(const Bandwidth b,
                parse_bandwidth(parts[parts.size() == 1 ? 0 : i], fmt::format("{}: {}", e->where, key)));
    assign(i, b);
  }
  return {};
}

// Both directions together carry no less than either of them, and no more than both. `one`: the key of one direction.
Result<PcieLinkValues> checked(const Params& p, std::string_view key, std::string_view one,
                               PcieLinkValues v) {
  const double up = v.bandwidth.value(), down = v.down.value() > 0 ? v.down.value() : up;
  if (v.both.value() > 0 && (v.both.value() < std::max(up, down) || v.both.value() > up + down))
    return p.error(key, "both directions together carry less than one of them, or more than their sum",
                   fmt::format("{} to {}, or another {} than {}", show(Bandwidth(std::max(up, down))),
                               show(Bandwidth(up + down)), one, show(v.bandwidth)));
  return v;
}

// Bandwidth and latency of the classes gpu, card and root, as far as they exist.
Result<std::vector<PcieLinkValues>> level_values(const Params& p,
                                                 const std::vector<std::string_view>& levels) {
  WEFT_ASSIGN(const auto gen, per_level(p, "gen", levels.size(), 3, kGenerations));
  WEFT_ASSIGN(const auto width, per_level(p, "width", levels.size(), 16, kWidths));
  WEFT_ASSIGN(PcieLinkKind kind, packet_sizes(p));
  Params values = p;
  if (!p.has("bw")) {
    std::string text;
    for (std::size_t i = 0; i < levels.size(); ++i) {
      kind.generation = static_cast<std::uint32_t>(gen[i]);
      kind.width = static_cast<std::uint32_t>(width[i]);
      if (i != 0) text += 'x';
      text += exact(pcie_payload_rate(kind));
    }
    values.set("bw", text, p.where());
  }
  if (!p.has("lat")) values.set("lat", "150ns", p.where());
  WEFT_ASSIGN(const std::vector<LinkValues> up, values.link_values(levels));
  std::vector<PcieLinkValues> out;
  out.reserve(up.size());
  for (const LinkValues& v : up) out.push_back({v, {}, {}});
  WEFT_TRY(read_levels(p, "down_bw", levels, [&](std::size_t i, Bandwidth b) { out[i].down = b; }));
  WEFT_TRY(read_levels(p, "both_bw", levels, [&](std::size_t i, Bandwidth b) { out[i].both = b; }));
  for (PcieLinkValues& v : out) {
    WEFT_ASSIGN(v, checked(p, "both_bw", "bw", v));
  }
  return out;
}

// A link of its own: `bw` makes it another one than that which `v` is taken from.
Result<PcieLinkValues> own_values(const Params& p, std::string_view bw, std::string_view lat,
                                  PcieLinkValues v) {
  if (const Params::Entry* e = p.find(bw)) {
    v.down = v.both = Bandwidth(0);
    WEFT_ASSIGN(v.bandwidth, parse_bandwidth(e->value, fmt::format("{}: {}", e->where, bw)));
  }
  if (const Params::Entry* e = lat.empty() ? nullptr : p.find(lat)) {
    WEFT_ASSIGN(v.latency, parse_duration(e->value, fmt::format("{}: {}", e->where, lat)));
  }
  return v;
}

class Maker {
 public:
  explicit Maker(PcieTreeShape& shape) : shape_(shape) {}
  std::uint8_t link_class(std::string_view name) {
    auto& c = shape_.classes;
    const auto it = std::find(c.begin(), c.end(), name);
    if (it != c.end()) return static_cast<std::uint8_t>(it - c.begin());
    c.emplace_back(name);
    return static_cast<std::uint8_t>(c.size() - 1);
  }
  // `name` gets the number of earlier nodes of that name behind it.
  std::uint32_t add(PcieKind kind, std::uint32_t parent, std::string_view name,
                    std::string_view link_class_name, const PcieLinkValues& link) {
    std::uint64_t before = 0;
    for (auto& [known, count] : counts_)
      if (known == name) before = count++;
    if (before == 0 && std::none_of(counts_.begin(), counts_.end(), [&](auto& c) { return c.first == name; }))
      counts_.emplace_back(name, 1);
    const bool only = kind == PcieKind::kInterSocket;
    shape_.nodes.push_back({kind, parent, only ? std::string(name) : fmt::format("{}{}", name, before),
                            parent == PcieTreeNode::kNone ? std::uint8_t{0} : link_class(link_class_name),
                            link});
    return static_cast<std::uint32_t>(shape_.nodes.size() - 1);
  }

 private:
  PcieTreeShape& shape_;
  std::vector<std::pair<std::string, std::uint64_t>> counts_;
};

std::uint32_t distance(const PcieTreeShape& s, std::uint32_t a, std::uint32_t b) {
  std::uint32_t steps = 0;
  // Parents have lower numbers: the higher one climbs.
  for (; a != b; ++steps) (a > b ? a : b) = s.nodes[std::max(a, b)].parent;
  return steps;
}

// The card that is fewest links away; GPUs that have several such are dealt to them in turn.
void find_nics(PcieTreeShape& s) {
  if (s.nics.empty()) return;
  s.nearest_nic.assign(s.nodes.size(), 0);
  s.nic_turn.assign(s.nodes.size(), 0);
  const auto assign = [&](const std::vector<std::uint32_t>& endpoints) {
    std::vector<std::uint32_t> taken(s.nics.size(), 0);
    for (const std::uint32_t e : endpoints) {
      std::uint32_t best = 0;
      for (std::uint32_t n = 1; n < s.nics.size(); ++n) {
        const auto d = distance(s, e, s.nics[n]), best_d = distance(s, e, s.nics[best]);
        if (d < best_d || (d == best_d && taken[n] < taken[best])) best = n;
      }
      s.nic_turn[e] = taken[best]++;
      s.nearest_nic[e] = best;
    }
  };
  assign(s.gpus);
  assign(s.memories);
}

// The values of every kind of link.
struct Rates {
  PcieLinkValues gpu, card, root, isl, nic, mem;
  PcieLinkKind packets;
};

Result<Rates> read_rates(const Params& p, const std::vector<std::string_view>& levels) {
  WEFT_ASSIGN(const std::vector<PcieLinkValues> values, level_values(p, levels));
  Rates r;
  r.gpu = values.front();
  r.card = levels.size() > 1 ? values[1] : r.gpu;
  r.root = values.back();
  WEFT_ASSIGN(r.isl, own_values(p, "isl_bw", "isl_lat", {{r.root.bandwidth, Duration(150'000)}, {}, {}}));
  WEFT_ASSIGN(r.nic, own_values(p, "nic_bw", {}, r.root));
  WEFT_ASSIGN(r.mem, own_values(p, "mem_bw", {}, {{Bandwidth(64e9), r.root.latency}, {}, {}}));
  if (const Params::Entry* e = p.find("mem_both_bw")) {
    WEFT_ASSIGN(r.mem.both, parse_bandwidth(e->value, fmt::format("{}: mem_both_bw", e->where)));
    WEFT_ASSIGN(r.mem, checked(p, "mem_both_bw", "mem_bw", r.mem));
  }
  WEFT_ASSIGN(r.packets, packet_sizes(p));
  return r;
}

// Reads the key `tree`: NODE = [COUNT*]NAME[@GENxWIDTH][(NODE NODE ...)], blanks or commas between.
class TreeText {
 public:
  TreeText(const Params& p, const Rates& rates, PcieTreeShape& shape, Maker& make)
      : p_(p), text_(p.find("tree")->value), rates_(rates), shape_(shape), make_(make) {}

  Result<void> read() {
    WEFT_TRY(node(PcieTreeNode::kNone, PcieKind::kNone, 0));
    skip();
    if (at_ < text_.size()) return wrong("more than one tree", "one root");
    return {};
  }

 private:
  struct Name {
    std::string_view name;
    PcieKind kind;
    std::string_view link_class;
    PcieLinkValues Rates::*values;
  };
  static constexpr std::array<Name, 7> kNames = {{
      {"isl", PcieKind::kInterSocket, "", &Rates::isl},
      {"rc", PcieKind::kRootComplex, "isl", &Rates::isl},
      {"switch", PcieKind::kSwitch, "pcie-root", &Rates::root},
      {"card", PcieKind::kSwitch, "pcie-card", &Rates::card},
      {"gpu", PcieKind::kGpu, "pcie-gpu", &Rates::gpu},
      {"nic", PcieKind::kNic, "pcie-nic", &Rates::nic},
      {"mem", PcieKind::kMemory, "mem", &Rates::mem},
  }};
  static constexpr int kMaxDepth = 32;
  static constexpr std::size_t kMaxNodes = 1 << 16;

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == ',')) ++at_;
  }
  [[nodiscard]] bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] Error wrong(std::string_view what, std::string_view expected) const {
    return bad_input(fmt::format("{}: tree, character {}", p_.find("tree")->where, at_ + 1),
                     std::string(what), std::string(text_.substr(at_, 20)), std::string(expected));
  }
  // A whole number; 0 where there is none or it is out of range.
  std::uint64_t number() {
    std::uint64_t v = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_)
      v = std::min<std::uint64_t>(v * 10 + static_cast<std::uint64_t>(text_[at_] - '0'), kMaxNodes + 1);
    return v;
  }

  Result<void> node(std::uint32_t parent, PcieKind above, int depth) {
    skip();
    const std::size_t begin = at_;
    std::uint64_t count = 1;
    if (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9') {
      count = number();
      if (count < 1 || count > kMaxNodes || !take('*')) return wrong("not a count", "COUNT*NAME, like 2*gpu");
    }
    const std::size_t again = at_;
    for (std::uint64_t i = 0; i < count; ++i) {
      at_ = again;
      WEFT_TRY(one(parent, above, depth));
      if (parent == PcieTreeNode::kNone && count > 1) {
        at_ = begin;
        return wrong("several roots", "isl(rc(...) rc(...))");
      }
    }
    return {};
  }

  Result<void> one(std::uint32_t parent, PcieKind above, int depth) {
    std::size_t end = at_;
    while (end < text_.size() && text_[end] >= 'a' && text_[end] <= 'z') ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    const auto name =
        std::find_if(kNames.begin(), kNames.end(), [&](const Name& n) { return n.name == word; });
    if (name == kNames.end()) return wrong("no such node", "isl, rc, switch, card, gpu, nic or mem");
    const bool root = parent == PcieTreeNode::kNone;
    const bool under_rc = above == PcieKind::kRootComplex;
    const bool fits = name->kind == PcieKind::kInterSocket   ? root
                      : name->kind == PcieKind::kRootComplex ? root || above == PcieKind::kInterSocket
                      : name->kind == PcieKind::kMemory      ? under_rc
                                                             : under_rc || above == PcieKind::kSwitch;
    if (!fits)
      return wrong("a node in the wrong place",
                   "isl over rc, rc over all others, switch and card over gpu, nic, switch, card");
    if (shape_.nodes.size() >= kMaxNodes || depth > kMaxDepth)
      return wrong("the tree is too large", fmt::format("{} nodes, {} levels", kMaxNodes, kMaxDepth));
    at_ = end;
    PcieLinkValues link = rates_.*(name->values);
    if (take('@')) {
      PcieLinkKind kind = rates_.packets;
      kind.generation = static_cast<std::uint32_t>(number());
      const bool x = take('x');
      kind.width = static_cast<std::uint32_t>(number());
      if (!x || std::find(kGenerations.begin(), kGenerations.end(), kind.generation) == kGenerations.end() ||
          std::find(kWidths.begin(), kWidths.end(), kind.width) == kWidths.end())
        return wrong("not a link", "@GENxWIDTH, like @4x8");
      link.bandwidth = pcie_payload_rate(kind);
      link.down = link.both = Bandwidth(0);
    }
    const std::uint32_t self = make_.add(name->kind, parent, name->name, name->link_class, link);
    if (name->kind == PcieKind::kGpu) shape_.gpus.push_back(self);
    if (name->kind == PcieKind::kNic) shape_.nics.push_back(self);
    if (name->kind == PcieKind::kMemory) shape_.memories.push_back(self);
    const bool leaf = name->kind >= PcieKind::kGpu;
    if (!leaf && !take('(')) return wrong(fmt::format("{} without anything below", name->name), "(");
    if (leaf) return {};
    for (skip(); !take(')'); skip()) {
      if (at_ == text_.size()) return wrong("a bracket is not closed", ")");
      WEFT_TRY(node(self, name->kind, depth + 1));
    }
    return {};
  }

  const Params& p_;
  std::string_view text_;
  const Rates& rates_;
  PcieTreeShape& shape_;
  Maker& make_;
  std::size_t at_ = 0;
};

Result<PcieTreeShape> tree_of_text(const Params& p, PcieTreeShape s) {
  for (const char* key : {"sockets", "switches", "cards", "gpus", "nics", "nic", "mem"})
    if (p.has(key)) return p.error(key, fmt::format("{} beside tree", key), "tree alone says what there is");
  WEFT_ASSIGN(const Rates rates, read_rates(p, {"gpu", "card", "root"}));
  Maker make(s);
  WEFT_TRY(TreeText(p, rates, s, make).read());
  if (s.gpus.empty()) return p.error("tree", "a tree without a GPU", "gpu at some place");
  find_nics(s);
  return s;
}

// The regular tree of the keys.
Result<PcieTreeShape> tree_of_keys(const Params& p, std::uint64_t default_nics, PcieTreeShape s) {
  WEFT_ASSIGN(const std::uint64_t sockets, p.integer_or("sockets", 1, kMaxTreeSockets, 1));
  WEFT_ASSIGN(const std::uint64_t switches, p.integer_or("switches", 0, kMaxChildren, 2));
  WEFT_ASSIGN(const std::uint64_t cards, p.integer_or("cards", 1, kMaxChildren, 2));
  WEFT_ASSIGN(const std::uint64_t gpus, p.integer_or("gpus", 1, kMaxChildren, 2));
  WEFT_ASSIGN(const std::uint64_t nics, p.integer_or("nics", 0, kMaxChildren, default_nics));
  WEFT_ASSIGN(const bool memory, p.on_off("mem", false));
  constexpr std::array<std::string_view, 2> kPlaces = {"root", "switch"};
  WEFT_ASSIGN(const std::string nic_place, p.choice("nic", kPlaces));
  if (nic_place == "switch" && switches == 0)
    return p.error("nic", "there is no switch for the network cards", "root, or switches=1 and more");
  WEFT_TRY(p.placed(check_size(saturating_mul(sockets, saturating_mul(std::max<std::uint64_t>(switches, 1),
                                                                      saturating_mul(cards, gpus + 1))),
                               0)));
  std::vector<std::string_view> levels = {"gpu"};
  if (gpus > 1) levels.emplace_back("card");
  if (switches > 0) levels.emplace_back("root");
  WEFT_ASSIGN(const Rates rates, read_rates(p, levels));

  Maker make(s);
  for (const std::string_view level : levels) make.link_class(fmt::format("pcie-{}", level));
  constexpr std::uint32_t kNone = PcieTreeNode::kNone;
  const std::uint32_t isl_node =
      sockets > 1 ? make.add(PcieKind::kInterSocket, kNone, "isl", "", rates.isl) : kNone;
  std::vector<std::uint32_t> complexes, bridges;
  for (std::uint64_t r = 0; r < sockets; ++r)
    complexes.push_back(make.add(PcieKind::kRootComplex, isl_node, "rc", "isl", rates.isl));
  for (const std::uint32_t rc : complexes) {
    if (switches == 0) bridges.push_back(rc);
    for (std::uint64_t i = 0; i < switches; ++i)
      bridges.push_back(make.add(PcieKind::kSwitch, rc, "switch", "pcie-root", rates.root));
  }
  for (const std::uint32_t bridge : bridges)
    for (std::uint64_t c = 0; c < cards; ++c) {
      const std::uint32_t above =
          gpus > 1 ? make.add(PcieKind::kSwitch, bridge, "card", "pcie-card", rates.card) : bridge;
      for (std::uint64_t g = 0; g < gpus; ++g)
        s.gpus.push_back(make.add(PcieKind::kGpu, above, "gpu", "pcie-gpu", rates.gpu));
    }
  // Dealt to the sockets (or the switches) in turn, the first card to the first of each socket.
  const std::vector<std::uint32_t>& slots = nic_place == "root" ? complexes : bridges;
  for (std::uint64_t n = 0; n < nics; ++n) {
    const std::uint64_t per_socket = slots.size() / sockets;
    const std::uint64_t slot = n % sockets * per_socket + n / sockets % per_socket;
    s.nics.push_back(make.add(PcieKind::kNic, slots[slot], "nic", "pcie-nic", rates.nic));
  }
  if (memory)
    for (const std::uint32_t rc : complexes)
      s.memories.push_back(make.add(PcieKind::kMemory, rc, "mem", "mem", rates.mem));
  find_nics(s);
  return s;
}

}  // namespace

std::span<const ParamInfo> pcie_params() { return kParams; }

std::vector<NearNic> nics_by_nearness(const PcieTreeShape& s, std::uint32_t number) {
  const auto count = static_cast<std::uint32_t>(s.nics.size());
  std::vector<NearNic> out;
  out.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t n = (s.nearest_nic[number] + i) % count;
    out.push_back({n, distance(s, number, s.nics[n])});
  }
  std::ranges::stable_sort(out, {}, &NearNic::links);
  for (auto begin = out.begin() + 1; begin < out.end();) {
    const auto end =
        std::ranges::find_if(begin, out.end(), [&](const NearNic& n) { return n.links != begin->links; });
    std::rotate(begin, begin + s.nic_turn[number] % (end - begin), end);
    begin = end;
  }
  return out;
}

Error no_failures_within(std::string where) {
  Error e = not_supported("failures inside a PCIe tree", "failures of the network between nodes");
  e.where = std::move(where);
  return e;
}

Result<PcieTreeShape> read_pcie_tree(const Params& p, std::uint64_t default_nics) {
  WEFT_ASSIGN([[maybe_unused]] const std::string routing, p.choice("routing", kTreeRoutings));
  PcieTreeShape s;
  s.tau = 21.0 / 121;
  if (const Params::Entry* e = p.find("tau")) {
    WEFT_ASSIGN(s.tau, parse_ratio(e->value, fmt::format("{}: tau", e->where)));
    if (s.tau < 0 || s.tau > 1)
      return p.error("tau", "tau is a part of a port's rate", "0 to 1, like 21/121");
  }
  return p.has("tree") ? tree_of_text(p, std::move(s)) : tree_of_keys(p, default_nics, std::move(s));
}

void wire_pcie_node(const PcieTreeNode& node, double tau, std::uint32_t v, VertexId above,
                    std::uint8_t link_class, std::vector<std::uint32_t>& ports, PcieForest& forest,
                    FabricBuilder& fabric) {
  forest.kind[v] = node.kind;
  forest.tau[v] = tau;
  if (!above.valid()) return;
  forest.parent[v] = above;
  forest.up_port[v] = ports[v]++;
  forest.down_port[v] = ports[above.index()]++;
  const LinkValues up{node.link.bandwidth, node.link.latency};
  const LinkValues down{node.link.down.value() > 0 ? node.link.down : up.bandwidth, up.latency};
  fabric.link(v, forest.up_port[v], above.index(), link_class, up);
  fabric.link(above.index(), forest.down_port[v], v, link_class, down);
  if (node.link.both.value() > 0)
    forest.both[v] = node.link.both.value() / (up.bandwidth.value() + down.bandwidth.value());
}

}  // namespace weft::topology
