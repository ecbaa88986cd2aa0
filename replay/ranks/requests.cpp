#include "replay/ranks/requests.hpp"

namespace weft::replay {

using traces::OpKind;

OpKind started_form(OpKind init) {
  switch (init) {
    case OpKind::ssend_init:
      return OpKind::issend;
    case OpKind::bsend_init:
      return OpKind::ibsend;
    case OpKind::rsend_init:
      return OpKind::irsend;
    case OpKind::recv_init:
      return OpKind::irecv;
    default:
      return OpKind::isend;
  }
}

void Requests::make(std::uint32_t slot) { rows_.resize(slot + std::size_t{1}); }

void Requests::init(std::uint32_t slot, const traces::Op& op) {
  if (slot >= rows_.size()) make(slot);
  Row& row = rows_[slot];
  row = Row{};
  row.state = State::kInactive;
  row.persistent = true;
  row.receive = op.kind == OpKind::recv_init;
  row.op = op;
  row.op.kind = started_form(op.kind);
}

}  // namespace weft::replay
