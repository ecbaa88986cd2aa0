// Result<T>: a value or an Error. The user's fault is a Result, our fault is a WEFT_CHECK; neither is ever the other.
//
// The interface is the subset of C++23 std::expected that we use, so that it can become an alias later.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/check.hpp"

namespace weft {

// Decides the exit code of the program (docs: README "Exit codes").
enum class ErrorCode {
  kFinding,       // 1: the run found something: deadlock, unmatched message, failed check
  kUsage,         // 2: wrong command line
  kNotSupported,  // 2: known and valid, but this version does not do it
  kBadInput,      // 3: a file or value is wrong
  kInternal,      // 70: a bug in Weft
};

[[nodiscard]] constexpr int exit_code(ErrorCode c) {
  switch (c) {
    case ErrorCode::kFinding:
      return 1;
    case ErrorCode::kUsage:
    case ErrorCode::kNotSupported:
      return 2;
    case ErrorCode::kBadInput:
      return 3;
    case ErrorCode::kInternal:
      return 70;
  }
  return 70;
}

// What went wrong, for a person: `where: error: what; got "got"; expected expected`.
// `where` is FILE:LINE:COLUMN, FILE@byte 0x1f40 (record 812, rank 3), an option name, or empty.
struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string where;
  std::string what;
  std::string got;       // the offending text; empty = no `got` part
  std::string expected;  // what would have been right; empty = no `expected` part

  // Of a text that a file or a command line brought, message() shows the beginning: so many bytes. Control characters
  // are written as escapes (core/printable.hpp), so that a message is one line and no terminal obeys it.
  static constexpr std::size_t kMaxGot = 200, kMaxPlace = 4400, kMaxText = 2000;
  [[nodiscard]] std::string message() const;
};

[[nodiscard]] Error bad_input(std::string where, std::string what, std::string got = {},
                              std::string expected = {});
[[nodiscard]] Error usage_error(std::string what, std::string got = {}, std::string expected = {});
[[nodiscard]] Error not_supported(std::string what, std::string expected = {});

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error)
      : v_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool has_value() const { return v_.index() == 0; }
  explicit operator bool() const { return has_value(); }
  [[nodiscard]] T& value() & {
    require();
    return std::get<0>(v_);
  }
  [[nodiscard]] const T& value() const& {
    require();
    return std::get<0>(v_);
  }
  [[nodiscard]] T&& value() && {
    require();
    return std::get<0>(std::move(v_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  [[nodiscard]] Error& error() {
    WEFT_CHECK(!has_value(), "error() of a Result that holds a value");
    return std::get<1>(v_);
  }
  [[nodiscard]] const Error& error() const {
    WEFT_CHECK(!has_value(), "error() of a Result that holds a value");
    return std::get<1>(v_);
  }

 private:
  void require() const {
    WEFT_CHECK(has_value(), "value() of a Result that holds: " + std::get<1>(v_).message());
  }
  std::variant<T, Error> v_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] bool has_value() const { return ok_; }
  explicit operator bool() const { return ok_; }
  void value() const { WEFT_CHECK(ok_, "value() of a Result that holds: " + error_.message()); }
  [[nodiscard]] Error& error() {
    WEFT_CHECK(!ok_, "error() of a Result that holds a value");
    return error_;
  }
  [[nodiscard]] const Error& error() const {
    WEFT_CHECK(!ok_, "error() of a Result that holds a value");
    return error_;
  }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace weft

// Evaluates a Result; returns its error from the enclosing function, else goes on.
#define WEFT_TRY(expr)                                                            \
  do {                                                                            \
    if (auto weft_try_ = (expr); !weft_try_) return std::move(weft_try_).error(); \
  } while (false)

#define WEFT_CONCAT_(a, b) a##b
#define WEFT_CONCAT(a, b) WEFT_CONCAT_(a, b)
// WEFT_ASSIGN(auto x, f()): declares x with f()'s value or returns f()'s error.
#define WEFT_ASSIGN(decl, expr) WEFT_ASSIGN_(decl, expr, WEFT_CONCAT(weft_result_, __LINE__))
#define WEFT_ASSIGN_(decl, expr, tmp)      \
  auto tmp = (expr);                       \
  if (!tmp) return std::move(tmp).error(); \
  decl = std::move(tmp).value()
