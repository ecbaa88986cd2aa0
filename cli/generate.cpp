// weft generate KIND ... -o T.weft: a synthetic trace.
#include <memory>

#include "cli/generate_pattern.hpp"
#include "cli/verb.hpp"

namespace weft::cli {

Action setup_generate(CLI::App& app) {
  app.allow_extras();  // so that an unknown kind is answered with the known ones
  auto commands = std::make_shared<std::vector<std::pair<const CLI::App*, Action>>>();
  add_pattern_commands(app, *commands);
  return [commands, &app]() -> Result<void> {
    std::string known;
    for (const auto& [sub, action] : *commands) {
      if (sub->parsed()) return action();
      known += (known.empty() ? "" : ", ") + sub->get_name();
    }
    const auto rest = app.remaining();
    return usage_error("unknown kind of trace", rest.empty() ? std::string() : rest.front(), known);
  };
}

}  // namespace weft::cli
