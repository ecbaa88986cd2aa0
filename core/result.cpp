#include "core/result.hpp"

#include <cstdio>
#include <cstdlib>

#include "core/printable.hpp"

namespace weft {

std::string Error::message() const {
  std::string m;
  if (!where.empty()) m += printable(where, kMaxPlace) + ": ";
  m += "error: " + printable(what, kMaxText);
  if (!got.empty()) m += "; got \"" + printable(got, kMaxGot) + "\"";
  if (!expected.empty()) m += "; expected " + printable(expected, kMaxText);
  return m;
}

Error bad_input(std::string where, std::string what, std::string got, std::string expected) {
  return {ErrorCode::kBadInput, std::move(where), std::move(what), std::move(got), std::move(expected)};
}
Error usage_error(std::string what, std::string got, std::string expected) {
  return {ErrorCode::kUsage, {}, std::move(what), std::move(got), std::move(expected)};
}
Error not_supported(std::string what, std::string expected) {
  return {ErrorCode::kNotSupported, {}, "not supported: " + std::move(what), {}, std::move(expected)};
}

void check_failed(const char* file, int line, const char* condition, std::string_view message) {
  std::fprintf(stderr, "weft: internal error at %s:%d: %s violated: %.*s\nThis is a bug in Weft.\n", file,
               line, condition, static_cast<int>(message.size()), message.data());
  std::fflush(stderr);
  std::_Exit(70);
}

}  // namespace weft
