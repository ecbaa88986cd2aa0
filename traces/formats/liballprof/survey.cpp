#include "traces/formats/liballprof/survey.hpp"

#include <algorithm>

namespace weft::traces::allprof {
namespace {

constexpr std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 31)) * 0x9e3779b97f4a7c15U;
  return x ^ (x >> 29);
}

// Bytes, where MPI wants them to be the same at all members: on the side that MPI_IN_PLACE leaves alone, as they are translated.
std::uint64_t bytes_of_all(const Line& line) {
  if (kLayouts[line.call].lists > 0) return 0;
  const auto bytes = [&](std::string_view count, std::string_view type) -> std::uint64_t {
    const std::size_t n = find_arg(line.call, count), t = find_arg(line.call, type);
    return n < kMaxArgs && t < kMaxArgs ? line.arg[n].bits() * line.arg[t].bits() : 0;
  };
  if (find_arg(line.call, "count") < kMaxArgs) return bytes("count", "datatype");
  const std::size_t root = find_arg(line.call, "root");
  const bool scatter = line.call == kScatter || line.call == kIscatter;
  const bool at_root = root < kMaxArgs && line.arg[root].value == line.arg[find_arg(line.call, "comm")].rank;
  if (root < kMaxArgs && at_root == scatter) return bytes("sendcount", "sendtype");
  return find_arg(line.call, "recvtype") < kMaxArgs ? bytes("recvcount", "recvtype")
                                                    : bytes("recvcount", "datatype");
}

}  // namespace

// Of a call that names peer and tag, its message; of a collective that it is one.
void Survey::traffic(const Line& line, LocalComm use) {
  const Layout& layout = kLayouts[line.call];
  CommUse& u = table_.log().uses[use];
  const std::size_t dest = find_arg(line.call, "dest"), source = find_arg(line.call, "source");
  if (dest == kMaxArgs && source == kMaxArgs) {
    if (line.call == kComm_rank || line.call == kComm_size) return;
    u.collectives = mixed(u.collectives ^ (line.call + std::uint64_t{1}));
    if (const std::size_t root = find_arg(line.call, "root"); root < kMaxArgs)
      u.collectives = mixed(u.collectives ^ line.arg[root].bits());
    u.collectives = mixed(u.collectives ^ bytes_of_all(line));
    return;
  }
  const auto message = [&](std::size_t peer, std::size_t tag, std::size_t count, std::size_t type,
                           bool sent) {
    const std::int64_t p = line.arg[peer].value, t = line.arg[tag].value;
    if (p < 0 || p >= u.size || t < 0) return;
    Traffic& w = u.with[static_cast<std::int32_t>(p)];
    ++(sent ? w.sent : w.received);
    (sent ? w.sent_tags : w.received_tags) += mixed(static_cast<std::uint64_t>(t) + 1);
    if (count < kMaxArgs && type < kMaxArgs)
      (sent ? w.sent_bytes : w.received_bytes) += line.arg[count].bits() * line.arg[type].bits();
  };
  if (layout.name.find("robe") != std::string_view::npos) return;
  const auto arg = [&](std::string_view own, std::string_view shared) {
    const std::size_t at = find_arg(line.call, own);
    return at < kMaxArgs ? at : find_arg(line.call, shared);
  };
  if (dest < kMaxArgs)
    message(dest, arg("sendtag", "tag"), arg("sendcount", "count"), arg("sendtype", "datatype"), true);
  if (source < kMaxArgs)
    message(source, arg("recvtag", "tag"), arg("recvcount", "count"), arg("recvtype", "datatype"), false);
}

void Survey::over(const Request& r) {
  if (!r.active) return;
  if (r.done_by != kNoCall)
    ahead_.done.push_back({r.ordinal, r.done_by});
  else if (!r.persistent && !r.cancelled)
    ahead_.copied.push_back(r.ordinal);
}

void Survey::polled() {
  if (!polls_) return;
  requests_.in_array(polls_->base, polls_->count, [this](std::uint64_t, Request& r) {
    if (r.active) r.done_by = last_poll_;
  });
  polls_.reset();
}

void Survey::post(const Line& line, const Posting& posting) {
  polled();
  const std::uint64_t address = line.arg[posting.request].bits();
  if (const Request* before = requests_.find(address)) over(*before);
  requests_.put(address, {.ordinal = ordinal_++,
                          .op = {},
                          .width = width_,
                          .receive = posting.receive,
                          .persistent = posting.persistent,
                          .active = !posting.persistent});
}

void Survey::named(const Line& line, const Naming& naming) {
  if (is_unsure(line.call)) {
    if (!polls_ || polls_->base != naming.base || polls_->count != naming.count) polled();
    polls_ = naming;
    last_poll_ = calls_++;
    return;
  }
  polled();
  std::vector<std::uint64_t> gone;
  requests_.in_array(naming.base, naming.count, [&](std::uint64_t address, Request& r) {
    switch (line.call) {
      case kStart:
      case kStartall:
        if (!r.persistent) return;
        over(r);
        r.active = true;
        r.cancelled = false;
        r.done_by = kNoCall;
        r.ordinal = ordinal_++;
        return;
      case kCancel:
        if (r.receive && r.active && !r.cancelled) ahead_.cancelled.push_back(r.ordinal);
        r.cancelled = true;
        return;
      case kRequest_free:
        if (r.persistent) over(r);
        gone.push_back(address);
        return;
      default:  // a wait
        r.active = false;
        r.done_by = kNoCall;
        if (!r.persistent) gone.push_back(address);
    }
  });
  for (const std::uint64_t address : gone) requests_.erase(address);
}

void Survey::add(const Line& line) {
  if (line.cls != CallClass::op) return;
  const Followed f = follow(line, table_);
  if (f.use != kNone) {
    width_ = request_width(table_.log().uses[f.use].handle);
    traffic(line, f.use);
  }
  if (const auto posting = posting_of(line.call)) post(line, *posting);
  if (const auto naming = naming_of(line)) named(line, *naming);
}

void Survey::finish() {
  polled();
  requests_.for_each([this](std::uint64_t, const Request& r) { over(r); });
  std::ranges::sort(ahead_.done, {}, &Ahead::Done::ordinal);
  std::ranges::sort(ahead_.cancelled);
  std::ranges::sort(ahead_.copied);
}

}  // namespace weft::traces::allprof
