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

}  // namespace weft::replay
