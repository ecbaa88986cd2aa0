#include "cli/command_line.hpp"

#include <string_view>

namespace weft::cli {

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789_-+=./:,@%^") == std::string::npos;
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false, any = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\'') {
      quoted = !quoted;
      any = true;
    } else if (!quoted && c == ' ') {
      if (any) words.push_back(std::move(word));
      word.clear();
      any = false;
    } else {
      if (!quoted && c == '\\' && i + 1 < line.size()) ++i;
      word += line[i];
      any = true;
    }
  }
  if (any) words.push_back(std::move(word));
  return words;
}

std::string told_command(const std::vector<std::string>& words, const std::vector<std::string>& besides) {
  std::vector<std::string> told{"weft"};
  std::vector<std::string_view> decide_nothing = {"--json",     "--csv",     "--report", "--threads",
                                                  "--progress", "--journal", "--shard"};
  decide_nothing.insert(decide_nothing.end(), besides.begin(), besides.end());
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      told.insert(told.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
      break;
    }
    if (word == "--quiet" || word == "--spread") continue;
    bool left_out = false, with_next = false;
    for (const std::string_view flag : decide_nothing) {
      const bool with_value = word.starts_with(flag) && word.size() > flag.size() &&
                              (!flag.starts_with("--") || word[flag.size()] == '=');
      left_out = left_out || word == flag || with_value;
      with_next = with_next || word == flag;
    }
    if (with_next) ++i;
    if (!left_out) told.push_back(word);
  }
  return shell_line(told);
}

}  // namespace weft::cli
