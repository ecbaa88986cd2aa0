#include "traces/op.hpp"

namespace weft::traces {

std::string_view op_name(OpKind k) {
  static constexpr std::string_view names[] = {
#define WEFT_X(id, text, doc) text,
      WEFT_OP_KINDS(WEFT_X)
#undef WEFT_X
  };
  const auto i = static_cast<std::size_t>(k);
  return i < kOpKindCount ? names[i] : "unknown";
}

}  // namespace weft::traces
