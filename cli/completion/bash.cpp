#include <fmt/format.h>

#include "cli/completion/shells.hpp"

namespace weft::cli {
namespace {

// A line of a case: what the function below sets.
std::string words_of(const Value& v) {
  std::string words;
  for (const std::string& c : v.choices) words += (words.empty() ? "" : " ") + c;
  const bool files = v.kind == Value::Kind::kFile || v.kind == Value::Kind::kPlatform;
  const std::string line = fmt::format("words=\"{}\" files={}", words, files ? "yes" : "");
  return v.optional ? "[[ -n $behind ]] && " + line + " || prev=\"\"" : line;
}

}  // namespace

// Words before the one at the cursor that are verbs or kinds make the path; the option right before it, if it takes a
// value, decides what is offered. "--on=tor" is three words where COMP_WORDBREAKS has "=", as it has in a new shell, else one:
// whose flag is then before each word that is offered.
std::string completion_bash(const std::vector<Command>& commands) {
  std::string kinds, options, values, positional;
  for (const Command& c : commands) {
    const std::string path = path_text(c);
    std::string below, flags;
    for (const auto& [name, what] : c.below) below += (below.empty() ? "" : " ") + name;
    if (!below.empty()) kinds += fmt::format("    \"{}\") echo \"{}\" ;;\n", path, below);
    for (const OptionWords& o : c.options) {
      std::string names;
      if (!o.name.empty()) flags += fmt::format("{}--{}", flags.empty() ? "" : " ", o.name);
      if (o.value.kind == Value::Kind::kNone) continue;
      if (!o.name.empty()) names = fmt::format("\"{} --{}\"", path, o.name);
      if (!o.letter.empty()) names += fmt::format("{}\"{} -{}\"", names.empty() ? "" : "|", path, o.letter);
      values += fmt::format("    {}) {} ;;\n", names, words_of(o.value));
    }
    options += fmt::format("    \"{}\") flags=\"{}\" ;;\n", path, flags);
    if (c.positional.kind != Value::Kind::kNone)
      positional += fmt::format("      \"{}\") {} ;;\n", path, words_of(c.positional));
  }
  return fmt::format(R"(# Completion of weft for bash: source <(weft completion bash)
_weft_below() {{
  case $1 in
{}    *) ;;
  esac
}}
_weft() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} path="" word flags="" words="" files="" behind="" before="" i
  COMPREPLY=()
  if [[ $cur == --*=* ]]; then
    behind=yes prev=${{cur%%=*}} before=${{cur%%=*}}= cur=${{cur#*=}}
  elif [[ $cur == = && $prev == --* ]]; then
    behind=yes cur=""
  elif [[ $prev == = && ${{COMP_WORDS[COMP_CWORD-2]}} == --* ]]; then
    behind=yes prev=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${{COMP_WORDS[i]}}
    [[ " $(_weft_below "$path") " == *" $word "* ]] && path="${{path:+$path }}$word"
  done
  case "$path $prev" in
{}    *) [[ -n $behind ]] && return; prev="" ;;
  esac
  if [[ -z $prev ]]; then
    case $path in
{}    esac
    case $path in
{}      *) words=$(_weft_below "$path") ;;
    esac
    [[ $cur == -* ]] && words=$flags files=""
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    local IFS=$'\n'
    COMPREPLY+=($(compgen -f -- "$cur"))
  fi
  COMPREPLY=("${{COMPREPLY[@]/#/$before}}")
}}
complete -F _weft weft
)",
                     kinds, values, options, positional);
}

}  // namespace weft::cli
