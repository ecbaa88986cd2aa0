// Results to JSON and back, each field named once: a result has one function
//   template <class V> void fields(V& visit, MyResult& r) {
//     auto& [makespan, finished] = r;  // all members: a new one does not compile until it is here
//     visit("makespan_ps", makespan); ...
// which a ToJson writes and a FromJson reads. Where all members are kept under their own names, it is
//   template <class V> void fields(V& visit, MyResult& r) { WEFT_FIELDS(visit, r, makespan, finished); }
// Doubles come back bit for bit (shortest text that reads back; what is no number, as words), durations as whole
// picoseconds (a sum beyond 64 bits as its upper part and its lower 62), times as those since the start.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/id.hpp"
#include "core/out_of_memory.hpp"
#include "core/units.hpp"

namespace weft::predict {

template <class T>
concept PlainNumber = std::integral<T>;
inline constexpr int kLowBits = 62;  // of a TimeSum

// The names after `object` are those of its members, all of them, in their order.
#define WEFT_FIELDS(visit, object, ...) \
  auto& [__VA_ARGS__] = (object);       \
  ::weft::predict::visit_named(visit, #__VA_ARGS__, __VA_ARGS__)

// visit("a", a), visit("b", b), ...; `names`: "a, b, ...".
template <class V, class... T>
void visit_named(V& visit, std::string_view names, T&... members) {
  const auto next = [&] {
    const std::size_t end = std::min(names.find(','), names.size());
    std::string name(names.substr(0, end));
    names.remove_prefix(std::min(names.find_first_not_of(", ", end), names.size()));
    return name;
  };
  (visit(next().c_str(), members), ...);
}

class ToJson {
 public:
  using Json = nlohmann::ordered_json;
  template <class T>
  void operator()(const char* name, T& value) {
    out_[name] = text_of(value);
  }
  template <class T>
  [[nodiscard]] static Json of(T& result) {
    const MustNotRunOutOfMemory of_json;
    ToJson visit;
    fields(visit, result);
    return std::move(visit.out_);
  }

 private:
  template <class T>
  static Json text_of(T& v) {
    if constexpr (PlainNumber<T> || std::same_as<T, std::string>) {
      return v;
    } else if constexpr (std::is_enum_v<T>) {
      return static_cast<std::underlying_type_t<T>>(v);
    } else if constexpr (std::same_as<T, double>) {
      if (std::isfinite(v)) return v;
      return std::isnan(v) ? "nan" : v > 0 ? "inf" : "-inf";
    } else if constexpr (std::same_as<T, Duration>) {
      return v.count();
    } else if constexpr (std::same_as<T, TimeSum>) {
      const auto whole = static_cast<std::int64_t>(v.count());
      if (whole == v.count()) return whole;
      return Json{static_cast<std::int64_t>(v.count() >> kLowBits),
                  static_cast<std::int64_t>(v.count() & ((WideTicks{1} << kLowBits) - 1))};
    } else if constexpr (requires { v.index(); }) {
      return v.index();
    } else if constexpr (requires { v.has_value(); }) {
      return v ? text_of(*v) : Json(nullptr);
    } else if constexpr (requires { v.begin(); }) {
      Json list = Json::array();
      for (auto& one : v) list.push_back(text_of(one));
      return list;
    } else {
      return of(v);
    }
  }
  Json out_ = Json::object();
};

// Reads what ToJson wrote; ok() says whether everything was there and of its kind.
class FromJson {
 public:
  using Json = nlohmann::ordered_json;
  explicit FromJson(const Json& from) : from_(&from), ok_(from.is_object()) {}
  template <class T>
  void operator()(const char* name, T& value) {
    if (!ok_) return;
    const auto at = from_->find(name);
    ok_ = at != from_->end() && take(*at, value);
  }
  [[nodiscard]] bool ok() const { return ok_; }
  template <class T>
  [[nodiscard]] static std::optional<T> to(const Json& from) {
    const MustNotRunOutOfMemory of_json;
    T result;
    FromJson visit(from);
    fields(visit, result);
    if (!visit.ok()) return std::nullopt;
    return result;
  }

 private:
  template <class T>
  static bool take(const Json& j, T& v) {
    if constexpr (std::same_as<T, bool>) {
      if (!j.is_boolean()) return false;
      v = j.get<bool>();
    } else if constexpr (std::unsigned_integral<T>) {
      if (!j.is_number_unsigned() || j.get<std::uint64_t>() > std::numeric_limits<T>::max()) return false;
      v = j.get<T>();
    } else if constexpr (std::integral<T>) {
      if (!j.is_number_integer()) return false;
      v = j.get<T>();
    } else if constexpr (std::is_enum_v<T>) {
      std::underlying_type_t<T> n{};
      if (!take(j, n)) return false;
      v = static_cast<T>(n);
    } else if constexpr (std::same_as<T, std::string>) {
      if (!j.is_string()) return false;
      v = j.get<std::string>();
    } else if constexpr (std::same_as<T, double>) {
      if (j.is_number()) {
        v = j.get<double>();
        return true;
      }
      if (j != "nan" && j != "inf" && j != "-inf") return false;
      constexpr double inf = std::numeric_limits<double>::infinity();
      v = j == "nan" ? std::numeric_limits<double>::quiet_NaN() : j == "inf" ? inf : -inf;
    } else if constexpr (std::same_as<T, Duration>) {
      if (!j.is_number_integer()) return false;
      v = Duration(j.get<std::int64_t>());
    } else if constexpr (std::same_as<T, TimeSum>) {
      std::array<std::int64_t, 2> parts{};
      if (j.is_number_integer()) {
        v = Duration(j.get<std::int64_t>());
      } else if (take(j, parts)) {
        v = TimeSum((WideTicks{parts[0]} << kLowBits) + parts[1]);
      } else {
        return false;
      }
    } else if constexpr (requires { v.index(); }) {
      std::uint32_t n = 0;
      if (!take(j, n)) return false;
      v = T(n);
    } else if constexpr (requires { v.has_value(); }) {
      v.reset();
      return j.is_null() || take(j, v.emplace());
    } else if constexpr (requires { v.push_back(*v.begin()); }) {
      if (!j.is_array()) return false;
      v.resize(j.size());
      for (std::size_t i = 0; i < v.size(); ++i)
        if (!take(j[i], v[i])) return false;
    } else if constexpr (requires { v.begin(); }) {
      if (!j.is_array() || j.size() != v.size()) return false;
      for (std::size_t i = 0; i < v.size(); ++i)
        if (!take(j[i], v[i])) return false;
    } else {
      FromJson inside(j);
      fields(inside, v);
      return inside.ok();
    }
    return true;
  }
  const Json* from_;
  bool ok_;
};

}  // namespace weft::predict
