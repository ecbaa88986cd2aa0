#include <fmt/format.h>

#include "cli/completion/shells.hpp"

namespace weft::cli {

// One line for each word. A condition says after which verb, and kind, it may stand.
std::string completion_fish(const std::vector<Command>& commands) {
  const auto quoted = [](const std::string& text) { return single_quoted(text, "\\'"); };
  std::string out =
      "# Completion of weft for fish: weft completion fish >~/.config/fish/completions/weft.fish\n"
      "complete -c weft -f\n";
  for (const Command& c : commands) {
    std::string here = c.path.empty() ? "__fish_use_subcommand" : "";
    for (const std::string& word : c.path)
      here += fmt::format("{}__fish_seen_subcommand_from {}", here.empty() ? "" : "; and ", word);
    std::string below = here;
    if (!c.path.empty() && !c.below.empty()) {
      below += "; and not __fish_seen_subcommand_from";
      for (const auto& [name, what] : c.below)
        if (name != c.path.front()) below += " " + name;
    }
    const auto line = [&](const std::string& when) {
      return fmt::format("complete -c weft -n {}", quoted(when));
    };
    for (const auto& [name, what] : c.below)
      out += fmt::format("{} -a {} -d {}\n", line(below), name, quoted(what));
    if (c.positional.kind == Value::Kind::kFile) out += line(here) + " -F\n";
    for (const std::string& choice : c.positional.choices) out += line(here) + " -a " + choice + "\n";
    for (const OptionWords& o : c.options) {
      std::string words;
      for (const std::string& choice : o.value.choices) words += (words.empty() ? "" : " ") + choice;
      out += line(here);
      if (!o.name.empty()) out += " -l " + o.name;
      if (!o.letter.empty()) out += " -s " + o.letter;
      if (o.value.kind == Value::Kind::kText && !o.value.optional) out += " -x";
      if (o.value.kind == Value::Kind::kFile || o.value.kind == Value::Kind::kPlatform) out += " -rF";
      if (!words.empty()) out += " -a " + quoted(words);
      out += fmt::format(" -d {}\n", quoted(o.about));
    }
  }
  return out;
}

}  // namespace weft::cli
