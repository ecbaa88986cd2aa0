#include "cli/run_verb.hpp"

#include <algorithm>

#include "cli/help.hpp"
#include "cli/verb.hpp"

namespace weft::cli {

Result<void> run_verb(std::vector<std::string> words) {
  CLI::App app{"", "weft"};
  Action action;
#define WEFT_VERB(id, name, summary) \
  if (words.front() == (name)) action = verb_##id::setup(*app.add_subcommand(name, summary));
#define WEFT_VERB_LATER(name, summary)
#include "cli/verbs/verbs.def"
#undef WEFT_VERB
#undef WEFT_VERB_LATER
  if (!action) return usage_error("unknown verb", words.front());
  std::vector<std::string> told{"weft"};
  told.insert(told.end(), words.begin(), words.end());
  std::reverse(words.begin(), words.end());  // as the parser takes them
  try {
    app.parse(words);
  } catch (const CLI::ParseError& e) {
    return parse_error(app, e);
  }
  return action(told);
}

}  // namespace weft::cli
