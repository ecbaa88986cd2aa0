#include "replay/collectives/rule_text.hpp"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/source_pos.hpp"

namespace weft::replay::collectives {

std::string where(const std::string& file, Place at) { return SourcePos{file, at.line, at.column}.text(); }

Error bad_rules(const std::string& file, Place at, std::string what, std::string got, std::string expected) {
  return bad_input(where(file, at), std::move(what), std::move(got), std::move(expected));
}

Error rules_not_supported(const std::string& file, Place at, std::string what) {
  Error e = not_supported(std::move(what));
  e.where = where(file, at);
  return e;
}

namespace {

constexpr int kMaxDepth = 64;

class Parser {
 public:
  Parser(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  Result<Json> whole() {
    WEFT_ASSIGN(Json v, value(0));
    skip();
    if (at_ < text_.size()) return wrong("text after the end of the rules", "nothing");
    return v;
  }

 private:
  [[nodiscard]] char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void step() { place_.step(text_[at_++]); }
  void skip() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      step();
  }
  [[nodiscard]] Error wrong(std::string what, std::string expected) const {
    std::string got = at_ < text_.size() ? std::string(text_.substr(at_, 20)) : "the end of the file";
    got = got.substr(0, got.find('\n'));
    return bad_rules(file_, place_, std::move(what), std::move(got), std::move(expected));
  }
  Result<void> take(char c) {
    skip();
    if (next() != c) return wrong("malformed JSON", std::string(1, c));
    step();
    return {};
  }
  // Rules are plain words: of escapes only those that stand for themselves.
  Result<std::string> string() {
    WEFT_TRY(take('"'));
    std::string out;
    while (next() != '"') {
      if (at_ >= text_.size() || static_cast<unsigned char>(next()) < 0x20)
        return wrong("string without an end", "\"");
      if (next() == '\\') {
        step();
        if (std::string_view("\"\\/").find(next()) == std::string_view::npos || at_ >= text_.size())
          return wrong("escape in a string of rules", "\\\", \\\\ or \\/");
      }
      out += next();
      step();
    }
    step();
    return out;
  }
  Result<Json> value(int depth) {
    skip();
    Json v;
    v.at = place_;
    if (depth > kMaxDepth) return wrong("rules within rules, more than 64 deep", "fewer levels");
    if (next() == '{') {
      WEFT_TRY(object(v, depth));
    } else if (next() == '[') {
      WEFT_TRY(array(v, depth));
    } else if (next() == '"') {
      v.kind = Json::Kind::kString;
      WEFT_ASSIGN(v.text, string());
    } else {
      const std::size_t from = at_;
      while (at_ < text_.size() && std::string_view(" \t\r\n,]}").find(next()) == std::string_view::npos)
        step();
      v.text = text_.substr(from, at_ - from);
      const auto r = std::from_chars(v.text.data(), v.text.data() + v.text.size(), v.integer);
      if (r.ec == std::errc() && r.ptr == v.text.data() + v.text.size()) {
        v.kind = Json::Kind::kInteger;
      } else if (v.text != "true" && v.text != "false" && v.text != "null") {
        return bad_rules(file_, v.at, "malformed JSON", v.text.empty() ? "the end of the file" : v.text,
                         "an object, a list, a string or an integer");
      }
    }
    return v;
  }
  Result<void> object(Json& v, int depth) {
    v.kind = Json::Kind::kObject;
    step();
    std::set<std::string, std::less<>> keys;
    skip();
    for (bool first = true; next() != '}'; first = false) {
      if (!first) {
        WEFT_TRY(take(','));
      }
      skip();
      Json::Member m;
      m.at = place_;
      WEFT_ASSIGN(m.key, string());
      if (!keys.insert(m.key).second)
        return bad_rules(file_, m.at, "key twice in one object", m.key, "each once");
      WEFT_TRY(take(':'));
      WEFT_ASSIGN(m.value, value(depth + 1));
      v.members.push_back(std::move(m));
      skip();
    }
    step();
    return {};
  }
  Result<void> array(Json& v, int depth) {
    v.kind = Json::Kind::kArray;
    step();
    skip();
    for (bool first = true; next() != ']'; first = false) {
      if (!first) {
        WEFT_TRY(take(','));
      }
      WEFT_ASSIGN(Json item, value(depth + 1));
      v.items.push_back(std::move(item));
      skip();
    }
    step();
    return {};
  }

  const std::string& file_;
  std::string_view text_;
  std::size_t at_ = 0;
  Place place_;
};

}  // namespace

Result<Json> parse_json(const std::string& file, std::string_view text) { return Parser(file, text).whole(); }

}  // namespace weft::replay::collectives
