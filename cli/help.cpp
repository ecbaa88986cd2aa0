#include "cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/suggest.hpp"

namespace weft::cli {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kNames = 34;  // the column of the descriptions

struct Example {
  std::string_view verb, command, answers;
};
constexpr Example kExamples[] = {
#define WEFT_EXAMPLE(verb, command, answers) {verb, command, answers},
#include "cli/verbs/examples.def"
#undef WEFT_EXAMPLE
};

// `text` in lines of at most `width`, the second and further ones behind `indent` spaces.
std::string wrapped(const std::string& text, std::size_t width, std::size_t indent) {
  std::istringstream in(text);
  std::string out;
  std::size_t column = 0;
  for (std::string word; in >> word;) {
    if (column > 0 && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = 0;
    } else if (column > 0) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

// A list of choices that is longer than a line goes on in the next one: "a|b|" and "c|d".
std::string broken(std::string choices) {
  for (std::size_t from = 0; choices.size() - from > kWidth;) {
    const std::size_t bar = choices.rfind('|', from + kWidth - 1);
    if (bar == std::string::npos || bar < from) break;
    choices.insert(bar + 1, "\n      ");
    from = bar + 2;
  }
  return choices;
}

class Pages : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool positional) const override {
    return row(make_option_name(option, positional) + make_option_opts(option), make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* sub) const override {
    return row(sub->get_display_name(true), sub->get_description());
  }
  // As it is: examples keep their lines.
  std::string make_footer(const CLI::App* app) const override {
    const std::string text = app->get_footer();
    return text.empty() ? std::string() : "\n" + text;
  }

 private:
  static std::string row(const std::string& name, const std::string& description) {
    std::string out = "  " + broken(name);
    if (out.size() + 1 > kNames)
      out += "\n" + std::string(kNames, ' ');
    else
      out.resize(kNames, ' ');
    return out + wrapped(description, kWidth - kNames, kNames) + "\n";
  }
};

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::Option* o : app.get_options())
    for (const std::string& name : o->get_lnames()) out.push_back("--" + name);
  return out;
}

// "generate ring"; empty for Weft itself.
std::string name_of(const CLI::App& app) {
  const CLI::App* up = app.get_parent();
  if (up == nullptr) return {};
  const std::string first = name_of(*up);
  return first.empty() ? app.get_name() : first + " " + app.get_name();
}

const CLI::App& deepest_parsed(const CLI::App& app) {
  for (const CLI::App* sub : app.get_subcommands()) return deepest_parsed(*sub);
  return app;
}

}  // namespace

std::shared_ptr<CLI::Formatter> help_formatter() {
  auto pages = std::make_shared<Pages>();
  pages->column_width(kNames);
  return pages;
}

std::string examples_of(const std::string& verb) {
  std::string out;
  for (const Example& e : kExamples)
    if (e.verb == verb) out += fmt::format("  {}\n      {}\n", e.command, e.answers);
  return out.empty() ? out : "Examples:\n" + out;
}

const CLI::App& deepest(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  for (const std::string& word : words) {
    const auto subs = at->get_subcommands([&](const CLI::App* sub) { return sub->get_name() == word; });
    if (subs.empty()) break;
    at = subs.front();
  }
  return *at;
}

Error parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& verb = deepest_parsed(app);
  const std::string name = name_of(verb);
  const std::string page = "weft " + (name.empty() ? std::string("help") : "help " + name);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    for (const std::string& word : app.remaining(true)) {
      if (!word.starts_with("-") || word == "-")
        return usage_error(fmt::format("weft {} does not take this word", name), word,
                           "what " + page + " says");
      const std::string flag = word.substr(0, word.find('='));
      const auto known = flags_of(verb);
      if (std::ranges::find(known, flag) != known.end())
        return usage_error("a flag before its verb", word, fmt::format("weft {} {}", name, flag));
      return usage_error(fmt::format("weft {} has no flag {}", name, flag), word,
                         "a flag of " + page + did_you_mean(flag, {known.begin(), known.end()}));
    }
  // "predict hlp": a word where the kind should stand.
  if (const auto kinds = verb.get_subcommands([](const CLI::App*) { return true; });
      !kinds.empty() && verb.get_subcommands().empty()) {
    std::vector<std::string> names;
    names.reserve(kinds.size());
    for (const CLI::App* kind : kinds) names.push_back(kind->get_name());
    const auto rest = app.remaining(true);
    const std::string got = rest.empty() ? std::string() : rest.front();
    return usage_error(name.empty() ? "which verb?" : fmt::format("weft {}: which kind?", name), got,
                       one_of(got, names));
  }
  const std::string what = error.what();
  // Our own checks say what they expect.
  return usage_error(what, {}, what.find("; expected ") == std::string::npos ? "see " + page : std::string());
}

}  // namespace weft::cli
