// A value of the command line that does not parse is a wrong command line, not a wrong file.
#pragma once

#include "core/result.hpp"

namespace weft {

template <class T>
[[nodiscard]] Result<T> of_flag(Result<T> parsed) {
  if (!parsed) parsed.error().code = ErrorCode::kUsage;
  return parsed;
}

}  // namespace weft
