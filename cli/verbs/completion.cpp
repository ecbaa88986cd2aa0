// weft completion SHELL: a script that makes a shell complete verbs, flags, values and platforms.
#include <memory>

#include "cli/completion/shells.hpp"
#include "cli/verb.hpp"
#include "core/files/atomic_file.hpp"

namespace weft::cli::verb_completion {
namespace {

struct Shell {
  std::string_view name, use;
  std::string (*script)(const std::vector<Command>&);
};
constexpr Shell kShells[] = {
#define WEFT_SHELL(id, name, what) {name, what, completion_##id},
#include "cli/completion/shells.def"
#undef WEFT_SHELL
};

}  // namespace

Action setup(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  std::string names, use;
  std::vector<std::string> known;
  for (const Shell& s : kShells) {
    known.emplace_back(s.name);
    names += (names.empty() ? "" : "|") + known.back();
    use += std::string(use.empty() ? "" : "\n") + "  " + std::string(s.use);
  }
  app.add_option("SHELL", *shell, names)->required()->check(CLI::IsMember(known));
  app.footer("Use:\n" + use);
  return [shell, &app](const std::vector<std::string>&) -> Result<void> {
    for (const Shell& s : kShells)
      if (s.name == *shell) return write_output("-", s.script(command_tree(*app.get_parent())));
    return usage_error("unknown shell", *shell, "one of those of weft completion --help");
  };
}

}  // namespace weft::cli::verb_completion
