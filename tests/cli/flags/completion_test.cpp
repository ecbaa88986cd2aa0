// weft completion SHELL: what bash, zsh and fish offer at the Tab key, asked of the shells themselves, and that no verb or flag
// of the help pages is missing.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <regex>
#include <sstream>

#include "congestion/models.hpp"
#include "tests/cli/run_weft.hpp"
#include "tests/support/checkout.hpp"
#include "tests/support/needs.hpp"

namespace weft::testing::completion_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
using ::testing::UnorderedElementsAreArray;

std::vector<std::string> lines_of(const std::string& command) {
  std::FILE* f = ::popen(command.c_str(), "r");
  std::string out;
  char buffer[4096];
  while (f != nullptr && std::fgets(buffer, sizeof buffer, f) != nullptr) out += buffer;
  EXPECT_TRUE(f != nullptr && ::pclose(f) == 0) << command << "\n" << out;
  std::vector<std::string> lines;
  std::istringstream in(out);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) lines.push_back(line);
  return lines;
}
std::vector<std::string> offered_models() {
  std::vector<std::string> names;
  for (const congestion::ModelRow& m : congestion::models())
    if (!m.is(congestion::kUnlisted)) names.emplace_back(m.name);
  return names;
}
bool have(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() {
    for (const char* shell : {"bash", "zsh", "fish"}) {
      const Outcome o = w.weft(std::string("completion ") + shell);
      EXPECT_EQ(o.exit_code, 0) << o.err;
      w.write(shell, o.out);
    }
    w.write("t.weft", "");
  }
  // What bash offers at the end of that line.
  [[nodiscard]] std::vector<std::string> bash(const std::string& line) const {
    w.write("ask", "source ./bash\nCOMP_WORDS=(" + line +
                       ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_weft\n"
                       "((${#COMPREPLY[@]} == 0)) || printf '%s\\n' \"${COMPREPLY[@]}\"\n");
    return lines_of("cd '" + w.path() + "' && bash ask");
  }
  // The same of fish, without what it says of each.
  [[nodiscard]] std::vector<std::string> fish(const std::string& line) const {
    auto lines =
        lines_of("cd '" + w.path() + "' && HOME=. fish --no-config -c 'source ./fish; complete -C \"" + line +
                 "\"' | cut -f1");
    return lines;
  }
  // What becomes of each of those lines at zsh's prompt when the Tab key is pressed, and whatever zsh prints then.
  [[nodiscard]] std::vector<std::string> zsh(const std::vector<std::string>& typed) const {
    std::filesystem::create_directories(w.path() + "/functions");
    w.write("functions/_weft", w.read("zsh"));
    w.write("press", R"(zmodload zsh/zpty
zpty -b prompt 'TERM=dumb zsh -f -i'
zpty -w prompt 'unset zle_bracketed_paste; PS1=; fpath=($PWD/functions $fpath); autoload -U compinit; compinit -u -D
tell() { print -r -- "<<"; zle complete-word; print -r -- "$BUFFER>>"; BUFFER= }; zle -N tell; bindkey "^I" tell; print REA""DY'
zpty -r prompt seen '*READY*'
for line; do
  zpty -n -w prompt $line$'\t'
  zpty -r prompt seen '*<<*>>*'
  print -r -- ${${${${seen//$'\r'/}##*<<$'\n'}%%>>*}//$'\n'/; }
done
)");
    return lines_of(
        fmt::format("cd '{}' && timeout 60 zsh -f press '{}'", w.path(), fmt::join(typed, "' '")));
  }
  Workspace w;
};

TEST_F(CompletionTest, BashOffersVerbsKindsFlagsValuesPlatformsAndFiles) {
  EXPECT_THAT(bash("weft rep"), UnorderedElementsAre("replay", "report"));
  EXPECT_THAT(bash("weft generate h"), UnorderedElementsAre("hpl", "halo"));
  EXPECT_THAT(bash("weft replay --crit"), ElementsAre("--critical-path"));
  EXPECT_THAT(bash("weft replay t.weft --model ''"), UnorderedElementsAreArray(offered_models()));
  EXPECT_THAT(bash("weft replay t.weft --on cs-"), UnorderedElementsAre("cs-storm", "cs-storm-16"));
  EXPECT_THAT(bash("weft predict hpl --on torus-1"), Contains("torus-16"));
  EXPECT_THAT(bash("weft check t."), ElementsAre("t.weft"));
  EXPECT_THAT(bash("weft export t.weft -o t."), ElementsAre("t.weft"));
  EXPECT_THAT(bash("weft replay t.weft --seed ''"), IsEmpty()) << "a number: nothing to offer";
  EXPECT_THAT(bash("weft help sel"), ElementsAre("selftest"));
  EXPECT_THAT(bash("weft completion ''"), UnorderedElementsAre("bash", "zsh", "fish"));
}

// As readline splits the line: "=" is a word of its own where COMP_WORDBREAKS has it.
TEST_F(CompletionTest, BashCompletesBehindAnEqualsSign) {
  EXPECT_THAT(bash("weft replay t.weft --on = tor"), ElementsAre("torus-16"));
  EXPECT_THAT(bash("weft replay t.weft --model ="), UnorderedElementsAreArray(offered_models()));
  EXPECT_THAT(bash("weft replay t.weft --raw = e"), ElementsAre("eager"));
  EXPECT_THAT(bash("weft export t.weft --output = t."), ElementsAre("t.weft"));
  EXPECT_THAT(bash("weft replay t.weft --verify ="), IsEmpty()) << "takes no value";
  EXPECT_THAT(bash("weft replay t.weft --on=tor"), ElementsAre("--on=torus-16"));
  EXPECT_THAT(bash("weft replay t.weft --raw="),
              UnorderedElementsAre("--raw=eager", "--raw=detached", "--raw=rendezvous"));
  EXPECT_THAT(bash("weft replay t.weft --seed="), IsEmpty());
  // At a prompt of a shell with its usual word breaks.
  WEFT_NEEDS(have("zsh") && std::system("zsh -fc 'zmodload zsh/zpty' 2>/dev/null") == 0, "no zsh with zpty");
  w.write("press", R"(zmodload zsh/zpty
zpty -b prompt 'TERM=dumb INPUTRC=/dev/null bash --norc -i'
zpty -w prompt 'PS1=; bind "set enable-bracketed-paste off"; source ./bash; weft() { printf "<<%s\n" "weft $*"; }; echo REA""DY'
zpty -r prompt seen '*READY*'
for line; do
  zpty -n -w prompt $line$'\t\n'
  zpty -r prompt seen $'*<<*\n'
  print -r -- ${${seen//$'\r'/}##*<<}
done
)");
  EXPECT_THAT(
      lines_of("cd '" + w.path() +
               "' && timeout 60 zsh -f press 'weft replay --on=tor' 'weft replay --raw=e' 'weft check t.'"),
      ElementsAre("weft replay --on=torus-16", "weft replay --raw=eager", "weft check t.weft"));
}

// --sample, --periodic and --raw stand alone or before "=": the next word is another one.
TEST_F(CompletionTest, AFlagWhoseValueIsOptionalIsFollowedByOthers) {
  EXPECT_THAT(bash("weft predict hpl --sample --exch"), ElementsAre("--exchanges"));
  EXPECT_THAT(bash("weft generate halo --periodic --it"), ElementsAre("--iterations"));
  EXPECT_THAT(bash("weft replay --raw t."), ElementsAre("t.weft"));
  if (have("fish")) {
    EXPECT_THAT(fish("weft predict hpl --sample --exch"), Contains("--exchanges"));
    EXPECT_THAT(fish("weft generate halo --periodic --it"),
                Contains("--iterations"));  // 4.0 also offers "--width"
    EXPECT_THAT(fish("weft replay --raw t."), Contains("t.weft"));
    EXPECT_THAT(fish("weft replay --raw=e"), ElementsAre("--raw=eager"));
  }
}

TEST_F(CompletionTest, WordsThatAVerbTakesAreOffered) {
  EXPECT_THAT(bash("weft export t.weft --to goal"), UnorderedElementsAre("goal", "goal-binary"));
  EXPECT_THAT(bash("weft search ''"), ElementsAre("halo"));
  EXPECT_THAT(bash("weft fit dg"), ElementsAre("dgemm"));
  EXPECT_THAT(bash("weft fit dgemm t.weft --model r"), ElementsAre("rate"));
  EXPECT_THAT(bash("weft predict hpl --exchanges = s"), ElementsAre("series"));
  EXPECT_THAT(bash("weft predict hpl --shard s"), ElementsAre("slurm"));
  EXPECT_THAT(bash("weft record -o t."), ElementsAre("t.weft"));
}

TEST_F(CompletionTest, FishOffersTheSame) {
  WEFT_NEEDS(have("fish"), "no fish here");
  EXPECT_THAT(fish("weft rep"), UnorderedElementsAre("replay", "report"));
  EXPECT_THAT(fish("weft generate h"), UnorderedElementsAre("hpl", "halo"));
  EXPECT_THAT(fish("weft replay --crit"), ElementsAre("--critical-path"));
  EXPECT_THAT(fish("weft replay t.weft --model "), UnorderedElementsAreArray(offered_models()));
  EXPECT_THAT(fish("weft replay t.weft --on cs-"), Contains("cs-storm"));
  EXPECT_THAT(fish("weft check t."), Contains("t.weft"));
  EXPECT_THAT(fish("weft generate hpl --p"), Contains("--pivots"));
  EXPECT_THAT(fish("weft completion "), UnorderedElementsAre("bash", "zsh", "fish"));
}

TEST_F(CompletionTest, ZshOffersTheSameAtItsPrompt) {
  WEFT_NEEDS(have("zsh") && std::system("zsh -fc 'zmodload zsh/zpty' 2>/dev/null") == 0, "no zsh with zpty");
  w.write("mine.textproto", "");
  const std::vector<std::pair<std::string, std::string>> pressed = {
      {"weft selft", "weft selftest "},
      {"weft generate halo --nei", "weft generate halo --neighbors="},
      {"weft replay --crit", "weft replay --critical-path "},
      {"weft replay t.weft --model max", "weft replay t.weft --model max-min "},
      {"weft replay t.weft --on tor", "weft replay t.weft --on torus-16 "},
      {"weft replay t.weft --on=tor", "weft replay t.weft --on=torus-16 "},
      {"weft replay t.weft --on mine", "weft replay t.weft --on mine.textproto "},
      {"weft replay t.weft --collectives mpi", "weft replay t.weft --collectives mpich "},
      {"weft check t.", "weft check t.weft "},
      {"weft export t.weft -o t.", "weft export t.weft -o t.weft "},
      {"weft record -o t.", "weft record -o t.weft "},
      {"weft export t.weft --to goal-", "weft export t.weft --to goal-binary "},
      {"weft search ha", "weft search halo "},
      {"weft replay t.weft --raw=e", "weft replay t.weft --raw=eager "},
      {"weft replay --raw t.", "weft replay --raw t.weft "},
      {"weft predict hpl --sample --exch", "weft predict hpl --sample --exchanges="},
  };
  std::vector<std::string> typed, becomes;
  for (const auto& [before, after] : pressed) {
    typed.push_back(before);
    becomes.push_back(after);
  }
  EXPECT_THAT(zsh(typed), ElementsAreArray(becomes));
}

// The script is read, and its function for a verb defined.
TEST_F(CompletionTest, ZshReadsItsScript) {
  WEFT_NEEDS(have("zsh"), "no zsh here");
  EXPECT_THAT(lines_of("cd '" + w.path() + "' && zsh -n zsh 2>&1"), IsEmpty());
  EXPECT_THAT(
      lines_of(
          "cd '" + w.path() +
          "' && zsh -fc 'autoload -U compinit; _arguments() { print -l -- $@ }; source ./zsh 2>/dev/null; "
          "_weft_replay' | grep -- '^\\*--model'"),
      ElementsAre(HasSubstr(fmt::format(":value:({})", fmt::join(offered_models(), " ")))));
}

TEST_F(CompletionTest, NoVerbAndNoFlagIsMissing) {
  const std::string bash = w.read("bash"), zsh = w.read("zsh"), fish = w.read("fish");
  const std::regex verb("^  ([a-z][a-z-]*) ", std::regex::multiline), flag("--([a-z][a-z-]*)");
  const std::string first = w.weft("--help").out;
  const auto listed = first.find("Subcommands:");
  const std::string verbs = first.substr(listed, first.find("\n\n", listed) - listed);
  std::size_t flags = 0;
  for (std::sregex_iterator v(verbs.begin(), verbs.end(), verb), end; v != end; ++v) {
    const std::string name = (*v)[1];
    EXPECT_NE(fish.find(" -a " + name + " "), std::string::npos);
    EXPECT_NE(zsh.find("\n_weft_" + name + "() {"), std::string::npos);
    if (name == "help") continue;
    SCOPED_TRACE(name);
    std::istringstream page(w.weft("help " + name).out);
    const auto at = bash.find("\n    \"" + name + "\") flags=\"");
    ASSERT_NE(at, std::string::npos) << name;
    const std::string mine = bash.substr(at, bash.find('\n', at + 1) - at);
    for (std::string line; std::getline(page, line);) {
      std::smatch m;
      if (!line.starts_with("  -") || !std::regex_search(line, m, flag)) continue;
      ++flags;
      EXPECT_THAT(mine, HasSubstr("--" + m[1].str()));
      EXPECT_NE(fish.find(" -l " + m[1].str() + " "), std::string::npos) << m[1];
      const std::string named = "*--" + m[1].str();
      EXPECT_NE(std::min({zsh.find(named + "["), zsh.find(named + "=["), zsh.find(named + "=-[")}),
                std::string::npos)
          << m[1];
    }
  }
  EXPECT_GT(flags, 150u);
}

// The manual pages that the build made of the help pages: none is missing, nor a flag, and groff has nothing to say.
TEST_F(CompletionTest, EveryVerbHasAManualPageWithItsFlags) {
  const std::filesystem::path man = support::binary_dir() + "/man";
  WEFT_NEEDS(std::filesystem::exists(man / "weft.1") && have("groff"), "no manual pages here: no help2man");
  std::size_t flags = 0, pages = 0;
  for (const auto& file : std::filesystem::directory_iterator(man)) {
    ++pages;
    EXPECT_THAT(lines_of("groff -man -Tutf8 -ww -z '" + file.path().string() + "' 2>&1"), IsEmpty());
    std::string text;
    for (const std::string& line : lines_of("cat '" + file.path().string() + "'")) text += line + "\n";
    std::string words = file.path().stem().string().substr(4);
    std::ranges::replace(words, '-', ' ');
    EXPECT_THAT(text, HasSubstr(".SH NAME\n" + file.path().stem().string() + " \\- "));
    std::istringstream page(w.weft("help" + words).out);
    const std::regex flag("^  (?:-[a-z],)?(--[a-z][a-z-]*)");
    for (std::string line; std::getline(page, line);) {
      std::smatch m;
      if (!std::regex_search(line, m, flag)) continue;
      ++flags;
      EXPECT_THAT(text, HasSubstr(std::regex_replace(m[1].str(), std::regex("-"), "\\-"))) << words;
    }
  }
  EXPECT_GT(flags, 250u);
  const std::string first = w.weft("help").out;
  std::size_t verbs = 0;
  const std::regex verb("\n  ([a-z]+) ");
  for (std::sregex_iterator v(first.begin(), first.end(), verb), end; v != end; ++v)
    if ((*v)[1] != "weft" && (*v)[1] != "help") {
      ++verbs;
      EXPECT_TRUE(std::filesystem::exists(man / ("weft-" + (*v)[1].str() + ".1"))) << (*v)[1];
    }
  EXPECT_GT(pages, verbs);
  EXPECT_GT(verbs, 15u);
}

TEST_F(CompletionTest, AnUnknownShellIsToldTheKnownOnes) {
  const Outcome o = w.weft("completion tcsh");
  EXPECT_EQ(o.exit_code, 2);
  EXPECT_THAT(o.err, HasSubstr("bash"));
}

}  // namespace
}  // namespace weft::testing::completion_test
