#include <fmt/format.h>

#include "cli/completion/shells.hpp"

namespace weft::cli {
namespace {

// A function's name for a command: _weft_generate_hpl.
std::string function_of(const Command& c) {
  std::string name = "_weft";
  for (const std::string& word : c.path) name += "_" + word;
  return name;
}

// Of a description within [...], and of a message within :...: .
std::string plain(const std::string& text) {
  std::string out;
  for (const char ch : text) {
    if (ch == '[' || ch == ']' || ch == ':' || ch == '\\') out += '\\';
    out += ch;
  }
  return out;
}

// ":what:how", as _arguments has it. Within it a colon of ours is escaped, and a blank before the function says that its words
// stand as they are.
std::string argument(const Value& v) {
  std::string words;
  for (const std::string& c : v.choices) words += (words.empty() ? "" : " ") + c;
  switch (v.kind) {
    case Value::Kind::kNone:
      return "";
    case Value::Kind::kText:
      return words.empty() ? ":value: " : fmt::format(":value:({})", words);
    case Value::Kind::kFile:
    case Value::Kind::kPlatform:
      return words.empty()
                 ? ":file:_files"
                 : fmt::format(R"z(:name: _alternative "names\:name\:({})" "files\:file\:_files")z", words);
  }
  return "";
}

// A flag with what stands behind it. The value of a long one stands behind "=" or is the next word; one that may be left out
// stands behind "=" alone, and is not spoken of where there is nothing to offer.
std::string specification(const std::string& name, const OptionWords& o) {
  const bool bare = o.value.kind == Value::Kind::kNone || (o.value.optional && o.value.choices.empty());
  const char* const with = bare || !name.starts_with("--") ? "" : o.value.optional ? "=-" : "=";
  return fmt::format("*{}{}[{}]{}{}", name, with, plain(o.about), o.value.optional && !bare ? ":" : "",
                     bare ? "" : argument(o.value));
}

}  // namespace

// A function for each command; one with others below it hands over to theirs.
std::string completion_zsh(const std::vector<Command>& commands) {
  const auto quoted = [](const std::string& text) { return single_quoted(text, "'\\''"); };
  std::string out = "#compdef weft\n# Completion of weft for zsh: a file _weft in a folder of $fpath.\n";
  for (const Command& c : commands) {
    out += fmt::format("\n{}() {{\n  local line state\n  _arguments -C", function_of(c));
    for (const OptionWords& o : c.options)
      for (const std::string& name :
           {o.name.empty() ? "" : "--" + o.name, o.letter.empty() ? "" : "-" + o.letter})
        if (!name.empty()) out += " \\\n    " + quoted(specification(name, o));
    if (c.below.empty()) {
      if (c.positional.kind != Value::Kind::kNone) out += " \\\n    " + quoted("*" + argument(c.positional));
      out += "\n}\n";
      continue;
    }
    out += " \\\n    '1: :->word' '*::word:->rest'\n  case $state in\n  word)\n    local -a words=(";
    for (const auto& [name, what] : c.below) out += "\n      " + quoted(name + ":" + plain(what));
    out += "\n    )\n    _describe word words\n    ;;\n";
    const bool help = c.path.size() == 1 && c.path.front() == "help";
    if (!help)
      out += fmt::format("  rest) (( $+functions[{0}_$line[1]] )) && {0}_$line[1] ;;\n", function_of(c));
    out += "  esac\n}\n";
  }
  return out + "\n_weft \"$@\"\n";
}

}  // namespace weft::cli
