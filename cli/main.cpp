// weft VERB ...: parses the command line, runs one verb, turns its error into a message and an exit code.
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <execinfo.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <map>
#include <new>

#include "cli/help.hpp"
#include "cli/interrupt.hpp"
#include "cli/verb.hpp"
#include "core/containers/large_pages.hpp"
#include "core/files/temporaries.hpp"
#include "core/out_of_memory.hpp"
#include "core/suggest.hpp"

namespace weft::cli {
namespace {

constexpr const char* kAbout =
    "Weft: how long will this MPI job take on that interconnect, and why?\n\n"
    "A quantity needs a unit: 100Gbps, 12.5GB/s, 1.5us, 64KiB (b = bit, B = byte, k = 10^3, Ki = 2^10).\n"
    "Exit codes: 0 ok, 1 the run found something (deadlock, unmatched message, failed check),\n"
    "            2 usage or not supported, 3 bad input or an output that cannot\n"
    "            be written, 70 out of memory, or a bug in Weft.";

// A descriptor that the caller closed would be taken by the first file that is opened, and what is printed would go
// into it. Each is opened so that using it fails.
void hold_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) == -1 && errno == EBADF)
      (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

// The page of a verb ends in its examples, and so do those of its kinds; what the verb has to say stands before.
void finish_page(CLI::App& verb, const std::string& examples) {
  const std::string own = verb.get_footer();
  verb.footer(own.empty() ? examples : own + "\n\n" + examples);
  for (CLI::App* kind : verb.get_subcommands([](const CLI::App*) { return true; }))
    finish_page(*kind, examples);
}

// The C library looks for its unwinder when the first exception passes through a frame of its own (pthread_once), and
// ends the program if there is no memory for that then.
void load_unwinder() {
#ifdef __GLIBC__
  void* frame = nullptr;
  (void)::backtrace(&frame, 1);
#endif
}

// What no handler is there for: thrown where nothing may be thrown, or in a thread of a library. No destructor runs any
// more, so what is unfinished is taken away here.
[[noreturn]] void end_by_exception() {
  remove_temporaries();
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
    std::fputs("weft: internal error\nThis is a bug in Weft.\n", stderr);
  } catch (const std::bad_alloc&) {
    end_out_of_memory();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weft: internal error: %s\nThis is a bug in Weft.\n", e.what());
  } catch (...) {
    std::fputs("weft: internal error\nThis is a bug in Weft.\n", stderr);
  }
  std::_Exit(70);
}

int fail(const Error& e) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", e.message().c_str());
  return exit_code(e.code);
}

// 0, or 3 where standard output did not take the page.
int print_page(const std::string& page) {
  Outputs out;
  out.print(page);
  const Result<void> printed = out.finish();
  return printed ? 0 : fail(printed.error());
}

constexpr std::array kVerbs = std::to_array<std::string_view>({
#define WEFT_VERB(id, name, summary) name,
#define WEFT_VERB_LATER(name, summary) name,
#include "cli/verbs/verbs.def"
#undef WEFT_VERB
#undef WEFT_VERB_LATER
});

// "--flag=", as a script has it whose variable is not set; empty: none. Where the value is optional the option parser does not tell
// that from the bare flag.
std::string given_nothing(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    if (word.starts_with("--") && word.find('=') == word.size() - 1) return word.substr(0, word.size() - 1);
  }
  return {};
}

// The same of "--flag ''"; null: none was. What would be left undone if it counted as not given.
const CLI::Option* given_nothing(const CLI::App& app) {
  for (const CLI::Option* o : app.get_options())
    if (o->nonpositional() && o->get_expected_min() > 0 &&
        std::ranges::find(o->results(), "") != o->results().end())
      return o;
  for (const CLI::App* verb : app.get_subcommands())
    if (const CLI::Option* const o = given_nothing(*verb)) return o;
  return nullptr;
}

int run(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words == std::vector<std::string>{"--version"}) return print_page("weft " WEFT_VERSION "\n");
  CLI::App app{kAbout, "weft"};
  app.set_version_flag("--version", "weft " WEFT_VERSION);
  app.require_subcommand(1);
  app.formatter(help_formatter());
  std::map<const CLI::App*, Action> actions;
  // Where a verb is named that does not speak of others, it is made alone: the flags of all of them are five million
  // instructions.
  const bool named = !words.empty() && std::ranges::find(kVerbs, words.front()) != kVerbs.end();
  const bool alone = named && words.front() != "completion" && words.front() != "schema";
  const auto is_made = [&](std::string_view verb) { return !alone || words.front() == verb; };

#define WEFT_VERB(id, name, summary)                   \
  if (is_made(name)) {                                 \
    CLI::App* sub = app.add_subcommand(name, summary); \
    actions[sub] = verb_##id::setup(*sub);             \
    finish_page(*sub, examples_of(name));              \
  }
#define WEFT_VERB_LATER(name, summary)                                                    \
  if (is_made(name)) {                                                                    \
    CLI::App* sub = app.add_subcommand(name, summary " (not supported in this version)"); \
    sub->allow_extras();                                                                  \
    actions[sub] = [](const std::vector<std::string>&) {                                  \
      return Result<void>(not_supported("weft " name, "a later version"));                \
    };                                                                                    \
  }
#include "cli/verbs/verbs.def"
#undef WEFT_VERB
#undef WEFT_VERB_LATER
  actions[app.add_subcommand("help", "this page, or that of a VERB, with examples")] =
      [&app](const std::vector<std::string>&) -> Result<void> { return write_output("-", app.help()); };
  app.footer(examples_of("") + "Each verb: weft help VERB");

  if (words.empty()) {
    const int shown = print_page(app.help());
    return shown != 0 ? shown : fail(usage_error("no verb", {}, "one of those above, or weft --help"));
  }
  const bool help = words.front() == "help";
  if (help) words.erase(words.begin());
  if (!named && !words.empty() && !words.front().starts_with("-")) {
    std::vector<std::string> verbs;
    for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
      verbs.push_back(sub->get_name());
    if (std::ranges::find(verbs, words.front()) == verbs.end())
      return fail(usage_error("unknown verb", words.front(), one_of(words.front(), verbs)));
  }
  if (help) {
    const CLI::App& verb = deepest(app, words);
    std::size_t taken = 0;
    for (const CLI::App* at = &verb; at != &app; at = at->get_parent()) ++taken;
    if (taken < words.size() && !words[taken].starts_with("-")) {
      std::vector<std::string> kinds;
      for (const CLI::App* below : verb.get_subcommands([](const CLI::App*) { return true; }))
        kinds.push_back(below->get_name());
      return fail(
          usage_error("weft help does not take this word", words[taken],
                      kinds.empty() ? "no word behind " + verb.get_name() : one_of(words[taken], kinds)));
    }
    const bool kind = verb.get_parent() != nullptr && verb.get_parent() != &app;
    return print_page(verb.help(&verb == &app ? ""
                                : kind        ? "weft " + verb.get_parent()->get_name()
                                              : "weft"));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion&) {
    return print_page("weft " WEFT_VERSION "\n");
  } catch (const CLI::CallForHelp&) {
    return print_page(app.help());
  } catch (const CLI::CallForAllHelp&) {
    return print_page(app.help("", CLI::AppFormatMode::All));
  } catch (const CLI::ParseError& e) {
    return fail(parse_error(app, e));
  }
  const CLI::Option* const empty = given_nothing(app);
  if (const std::string flag = empty != nullptr ? empty->get_name() : given_nothing(words); !flag.empty())
    return fail(usage_error("a flag with an empty value", flag, "a value, or no such flag"));
  const auto chosen = app.get_subcommands();
  const Result<void> r = actions.at(chosen.front())({argv, argv + argc});
  return r ? 0 : fail(r.error());
}

}  // namespace
}  // namespace weft::cli

int main(int argc, char** argv) {
  weft::cli::hold_standard_descriptors();
  weft::prefer_large_pages();
  std::set_terminate(weft::cli::end_by_exception);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that becomes too large is an error of writing, like a full disk
  weft::end_when_out_of_memory();
  weft::cli::load_unwinder();
  try {
    weft::remove_temporaries_when_interrupted();
    const int code = weft::cli::run(argc, argv);
    weft::cli::end_if_interrupted();
    return code;
  } catch (const std::bad_alloc&) {
    weft::end_out_of_memory();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weft: internal error: %s\nThis is a bug in Weft.\n", e.what());
    return 70;
  }
}
