#include "cli/completion/shells.hpp"

namespace weft::cli {

std::string path_text(const Command& c) {
  std::string text;
  for (const std::string& word : c.path) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string single_quoted(const std::string& text, const std::string& quote) {
  std::string out = "'";
  for (const char ch : text) {
    if (ch == '\'')
      out += quote;
    else
      out += ch;
  }
  return out + "'";
}

}  // namespace weft::cli
