#include "replay/message_cost.hpp"

namespace weft::replay {

using traces::OpKind;

namespace {

// Where nothing takes time: the defaults.
const topology::MpiParameters& free_of_charge() {
  static const topology::MpiParameters mpi;
  return mpi;
}

// Null if there are none.
const std::vector<topology::CostSegment>* listed(const std::vector<topology::CostSegment>& segments) {
  return segments.empty() ? nullptr : &segments;
}

}  // namespace

MessageCost::MessageCost(const topology::MpiParameters& mpi, const ReplayOptions& options)
    : mpi_(options.raw == RawMode::kOff && !options.ideal_network ? &mpi : &free_of_charge()),
      ideal_(options.ideal_network),
      raw_(options.raw),
      raw_switch_(options.raw_switch),
      eager_limit_(mpi.eager_limit),
      header_(options.header.value()),
      send_{listed(mpi_->send_cost), Elapsed(mpi_->send_overhead), mpi_->send_overhead_per_byte},
      isend_(mpi_->isend_cost.empty() ? send_ : CpuCost{&mpi_->isend_cost, kNoTime, 0}),
      recv_{listed(mpi_->recv_cost), Elapsed(mpi_->recv_overhead), mpi_->recv_overhead_per_byte},
      has_cpu_(send_.any() || isend_.any() || recv_.any()),
      what_if_(options.what_if),
      changed_(what_if_.no_latency || what_if_.latency != Duration(0)),
      plain_(!ideal_ && !changed_ && mpi_->transfer.empty()) {
  short_ = raw_switch_ ? raw_switch_->value() - 1 : eager_limit_.value();
  for (std::size_t k = 0; k < traces::kOpKindCount; ++k)
    for (const bool is_short : {false, true})
      protocols_[k][is_short] = rule(static_cast<OpKind>(k), is_short);
}

Protocol MessageCost::rule(OpKind kind, bool is_short) const {
  if (kind == OpKind::ssend || kind == OpKind::issend) return Protocol::kRendezvous;
  Protocol p = Protocol::kEager;
  if (raw_switch_) {
    p = is_short ? Protocol::kDetached : Protocol::kRendezvous;
  } else {
    switch (raw_) {
      case RawMode::kOff:
        p = is_short ? Protocol::kEager : Protocol::kRendezvous;
        break;
      case RawMode::kEager:
        p = Protocol::kEager;
        break;
      case RawMode::kDetached:
        p = Protocol::kDetached;
        break;
      case RawMode::kRendezvous:
        p = Protocol::kRendezvous;
        break;
    }
  }
  // A buffered send returns at once whatever happens to its data.
  if (p == Protocol::kRendezvous && (kind == OpKind::bsend || kind == OpKind::ibsend))
    p = Protocol::kDetached;
  return p;
}

MessageCost::Parts MessageCost::uncontended(std::int64_t bytes, const Path& path, OpKind kind,
                                            Found found) const {
  Parts p;
  p.protocol = protocol_of(kind, bytes);
  const bool nonblocking =
      kind == OpKind::isend || kind == OpKind::issend || kind == OpKind::ibsend || kind == OpKind::irsend;
  p.send_cpu = nonblocking ? isend(bytes) : send(bytes);
  p.recv_cpu = recv(bytes);
  const bool eager = p.protocol == Protocol::kEager;
  const auto flow = [&](double cap) {
    if (size(bytes) > 0)
      p.transfer = Elapsed::of_seconds(static_cast<double>(size(bytes)) / std::min(path.capacity, cap));
  };
  if (path.local) {
    if (!eager) p.request = p.permission = local_leg();
    if (path.between_sockets) {
      p.latency = socket_latency(bytes, found);
      flow(socket_rate(bytes, found));
    } else {
      p.transfer = local_data(bytes, found);
    }
    return p;
  }
  if (!eager && !known_at_once()) {
    p.request = envelope(path.latency);
    p.permission = permission(path.latency_back.value_or(path.latency));
  }
  p.latency = data_latency(bytes, path.latency, eager, found);
  flow(rate_cap(bytes, path.capacity, found));
  return p;
}

}  // namespace weft::replay
