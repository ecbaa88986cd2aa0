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

std::span<const std::int64_t> awaited_slots(const traces::Op& op, std::span<const std::int64_t> list,
                                            std::int64_t& single) {
  switch (op.kind) {
    case OpKind::wait:
    case OpKind::test:
      if (op.request == traces::kNoRequest) return {};
      single = op.request;
      return {&single, 1};
    case OpKind::waitall:
    case OpKind::testall:
      return list;
    default:
      if (list.empty() || list[0] + 1 >= static_cast<std::int64_t>(list.size())) return {};
      return list.subspan(static_cast<std::size_t>(list[0]) + 1);
  }
}

}  // namespace weft::replay
