// weft VERB ...: parses the command line, runs one verb, turns its error into a message and an exit code.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <map>
#include <new>

#include "cli/large_pages.hpp"
#include "cli/verb.hpp"

namespace weft::cli {
namespace {

constexpr const char* kAbout =
    "Weft: how long will this MPI job take on that interconnect, and why?\n\n"
    "A quantity needs a unit: 100Gbps, 12.5GB/s, 1.5us, 64KiB (b = bit, B = byte, k = 10^3, Ki = 2^10).\n"
    "Exit codes: 0 ok, 1 the run found something (deadlock, unmatched message, failed check),\n"
    "            2 usage or not supported, 3 bad input, 70 a bug in Weft.";

int fail(const Error& e) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", e.message().c_str());
  return exit_code(e.code);
}

int run(int argc, char** argv) {
  CLI::App app{kAbout, "weft"};
  app.set_version_flag("--version", "weft " WEFT_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  std::map<const CLI::App*, Action> actions;

#define WEFT_VERB(id, name, summary)                   \
  {                                                    \
    CLI::App* sub = app.add_subcommand(name, summary); \
    actions[sub] = setup_##id(*sub);                   \
  }
#define WEFT_VERB_LATER(name, summary)                                                          \
  {                                                                                             \
    CLI::App* sub = app.add_subcommand(name, summary " (not supported in this version)");       \
    sub->allow_extras();                                                                        \
    actions[sub] = [] { return Result<void>(not_supported("weft " name, "a later version")); }; \
  }
#include "cli/verbs.def"
#undef WEFT_VERB
#undef WEFT_VERB_LATER

  if (argc > 1 && argv[1][0] != '-') {
    std::string known;
    bool found = false;
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; })) {
      found = found || sub->get_name() == argv[1];
      known += (known.empty() ? "one of: " : ", ") + sub->get_name();
    }
    if (!found) return fail(usage_error("unknown verb", argv[1], known));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help, --version
  } catch (const CLI::ParseError& e) {
    return fail(usage_error(e.what(), {}, "see weft --help or weft VERB --help"));
  }
  const auto chosen = app.get_subcommands();
  const Result<void> r = actions.at(chosen.front())();
  return r ? 0 : fail(r.error());
}

}  // namespace
}  // namespace weft::cli

int main(int argc, char** argv) {
  weft::cli::prefer_large_pages();
  try {
    return weft::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "error: out of memory\n");
    return 70;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weft: internal error: %s\nThis is a bug in Weft.\n", e.what());
    return 70;
  }
}
