// weft record: runs a command with the recorder preloaded and merges what its ranks left into one trace.
//
// The exit code is the command's own; only a command that succeeded without any MPI rank, or whose trace
// cannot be written, makes weft's error count. The spools go only when the trace is there: else they stay, and
// the error says where and how to merge them.
#include <dirent.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

#include "cli/command_line.hpp"
#include "cli/flags/values.hpp"
#include "cli/tell.hpp"
#include "cli/verb.hpp"
#include "core/counted.hpp"
#include "core/files/atomic_file.hpp"
#include "core/files/input_file.hpp"
#include "core/quantity_text.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"
#include "traces/recorder/launch/choose.hpp"
#include "traces/recorder/launch/launch.hpp"
#include "traces/recorder/merge/merge.hpp"
#include "traces/recorder/spool.hpp"

namespace weft::cli::verb_record {
namespace {

struct Options {
  CommonOptions common;
  std::string output;
  std::string clock = "cpu";
  std::string merge_only;
  bool keep_spool = false;
  bool salvage = false;
  std::vector<std::string> command;         // as given after --
  std::vector<std::string> parsed_command;  // the option parser's idea of it, used only without --
};

// The words after the first "--" as the kernel got them: the option parser would take "[a,b]" apart.
std::vector<std::string> words_after_dashes() {
  std::vector<std::string> words;
  auto text = read_file("/proc/self/cmdline");
  if (!text) return words;
  bool after = false;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = text->find('\0', at);
    std::string word = text->substr(at, end - at);
    if (after) {
      words.push_back(std::move(word));
    } else {
      after = word == "--";
    }
    if (end == std::string::npos) break;
    at = end + 1;
  }
  return words;
}

constexpr std::uint64_t kMostText = 1 << 20;  // of a command or an HPL.dat

std::string hpl_dat_here() {
  for (const char* name : {"HPL.dat", "hpccinf.txt"}) {
    struct stat st {};
    if (::stat(name, &st) != 0 || !S_ISREG(st.st_mode)) continue;  // what a pipe holds is for the program
    if (auto text = read_file(name, kMostText)) return std::move(text).value();
  }
  return {};
}

// In the spool directory: the command and the HPL.dat that it found, for the merge, which may be a later one in another place.
constexpr const char* kCommandFile = "command.txt";
constexpr const char* kHplDatFile = "HPL.dat";

std::string text_in(const std::string& folder, const char* name) {
  auto text = read_file(folder + "/" + name, kMostText);
  return text ? std::move(text).value() : std::string();
}

Result<void> keep_texts(const std::string& folder, const std::string& command) {
  WEFT_TRY(write_output(folder + "/" + kCommandFile, command));
  if (const std::string hpl_dat = hpl_dat_here(); !hpl_dat.empty())
    return write_output(folder + "/" + kHplDatFile, hpl_dat);
  return {};
}

// Whether the trace can be written, before the program runs for hours. A device or a pipe is left alone: opening
// it can already be seen at its other end.
Result<void> check_output(const std::string& output) {
  struct stat st {};
  const bool exists = ::stat(output.c_str(), &st) == 0;
  if (exists && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) return {};
  WEFT_TRY(AtomicFile::open(output));
  return {};
}

// Beside the output, where the trace needs room as well; for a device or a pipe in the working directory.
Result<std::string> make_spool_directory(const std::string& output) {
  struct stat st {};
  const bool in_folder = ::stat(output.c_str(), &st) != 0 || S_ISREG(st.st_mode);
  std::string folder = in_folder ? output : output.substr(output.rfind('/') + 1);
  if (folder.empty() || folder[0] != '/') {
    char* here = ::getcwd(nullptr, 0);
    if (here == nullptr)
      return bad_input(output, std::string("no working directory: ") + std::strerror(errno));
    folder = std::string(here) + "/" + folder;
    std::free(here);
  }
  folder += fmt::format(".spool.{}", ::getpid());
  if (::mkdir(folder.c_str(), 0755) != 0)
    return bad_input(output, std::string("cannot write beside the output: ") + std::strerror(errno));
  return folder;
}

void remove_spools(const std::string& folder) {
  if (DIR* dir = ::opendir(folder.c_str())) {
    while (const dirent* entry = ::readdir(dir)) {
      const std::string_view name = entry->d_name;
      if (name.ends_with(".spool") || name == kCommandFile || name == kHplDatFile ||
          name == recorder::kLostFile || name == recorder::kWrongMpiFile || name == recorder::kSessionFile)
        ::unlink((folder + "/" + entry->d_name).c_str());
    }
    ::closedir(dir);
  }
  ::rmdir(folder.c_str());
}

bool has_spools(const std::string& folder) {
  bool found = false;
  if (DIR* dir = ::opendir(folder.c_str())) {
    while (const dirent* entry = ::readdir(dir))
      found = found || std::string_view(entry->d_name).ends_with(".spool");
    ::closedir(dir);
  }
  return found;
}

std::string kept_text(const std::string& folder) {
  return fmt::format(
      "weft record: the recording is kept in {}\n"
      "weft record: to write the trace: {}\n",
      folder, shell_line({"weft", "record", "--merge", folder, "-o", "T.weft"}));
}

// While the spools become a trace, an interrupt says where they are; then it does what it did before.
class InterruptedMerge {
 public:
  explicit InterruptedMerge(std::string text) {
    text_ = std::move(text);
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, text_.data(), text_.size());
      for (std::size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
      ::raise(signal);  // arrives when this handler returns
    };
    for (std::size_t i = 0; i < std::size(kSignals); ++i) {
      ::sigaction(kSignals[i], nullptr, &before_[i]);
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~InterruptedMerge() {
    for (std::size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  InterruptedMerge(const InterruptedMerge&) = delete;
  InterruptedMerge& operator=(const InterruptedMerge&) = delete;

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  static inline std::string text_;  // a handler has no other place to look
  static inline struct sigaction before_[std::size(kSignals)] = {};
};

// On standard error: standard output is the program's.
void report(const Options& o, const std::vector<recorder::RecordedTrace>& made) {
  if (o.common.quiet) return;
  for (const auto& t : made) {
    tell("weft record: {}: {}, {}, {}, {}\n", t.path, counted(t.ranks, "rank"),
         counted(t.totals.ops, "operation"), counted(t.totals.messages, "message"),
         show_bytes(t.totals.bytes));
    for (const std::string& warning : t.warnings) tell("weft record: warning: {}\n", warning);
    for (const std::string& remark : t.remarks) tell("weft record: {}\n", remark);
  }
}

// A spool directory without a rank: why.
Error nothing_recorded(const std::string& folder, const std::string& command) {
  const std::string where = command.empty() ? folder : command;
  if (const std::string wrong = recorder::wrong_mpi(folder); !wrong.empty())
    return bad_input(where, "no MPI rank was recorded: the program loads another MPI than its launcher's",
                     wrong, "a build of Weft with that MPI, and its own launcher");
  if (const std::string session = recorder::program_with_sessions(folder); !session.empty())
    return bad_input(where, "no MPI rank was recorded: sessions of MPI 4 are not supported", session,
                     "a program that calls MPI_Init");
  if (const std::string lost = recorder::lost_program(folder); !lost.empty())
    return bad_input(where, "no MPI rank was recorded: the recorder was lost on the way", lost,
                     "a wrapper that keeps LD_PRELOAD (LD_PRELOAD=other.so:$LD_PRELOAD) and WEFT_RECORD_DIR");
  return bad_input(
      where, "no MPI rank was recorded", {},
      "a program that calls MPI_Init, loads its MPI library dynamically, and is started with the "
      "environment of this command (LD_PRELOAD, WEFT_RECORD_DIR); functions that it looks up in the library "
      "itself (dlsym with a handle, Python's ctypes) go past the recorder");
}

Result<void> merge(const Options& o, const std::string& folder, const std::string& command) {
  recorder::RunInfo info;
  info.recorder = "weft record " WEFT_VERSION;
  info.command_line = command;
  info.hpl_dat = text_in(folder, kHplDatFile);
  info.salvage = o.salvage;
  WEFT_ASSIGN(const auto made, recorder::merge_spools(folder, o.output, info));
  if (made.empty()) return nothing_recorded(folder, command);
  report(o, made);
  nlohmann::ordered_json j = {{"schema", "weft.record/1"}, {"traces", nlohmann::ordered_json::array()}};
  std::vector<std::string> warnings;
  std::string csv = weft::report::csv_line({"output", "ranks", "ops", "messages", "bytes"});
  for (const auto& t : made) {
    j["traces"].push_back({{"output", t.path},
                           {"ranks", t.ranks},
                           {"ops", t.totals.ops},
                           {"messages", t.totals.messages},
                           {"bytes", t.totals.bytes},
                           {"notes", t.notes}});
    csv += weft::report::csv_line({t.path, std::to_string(t.ranks), std::to_string(t.totals.ops),
                                   std::to_string(t.totals.messages), std::to_string(t.totals.bytes)});
    for (const std::string& w : t.warnings) warnings.push_back(made.size() == 1 ? w : t.path + ": " + w);
  }
  j["warnings"] = warnings;
  WEFT_TRY(o.common.write_json(weft::report::json_text(j)));
  return o.common.write_csv(csv);
}

Result<void> merge_only(const Options& o) {
  // The clock was chosen when it was recorded, and a merge removes nothing.
  WEFT_TRY(
      refuse_unused(*o.common.app, {"--clock", "--keep-spool"}, "record --merge", "a command to record"));
  if (!o.command.empty())
    return usage_error("--merge runs nothing", shell_line(o.command), "either --merge DIR or a command");
  return merge(o, o.merge_only, text_in(o.merge_only, kCommandFile));
}

Result<void> record(const Options& o) {
  if (o.common.outputs->take_standard_output())
    return usage_error("standard output is the program's", "-", "a file for -o, --json and --csv");
  WEFT_TRY(check_output(o.output));
  if (!o.merge_only.empty()) return merge_only(o);
  if (o.salvage) return usage_error("--salvage reads what is there", {}, "--merge DIR with it");
  if (o.command.empty())
    return usage_error("no command to record", {}, "weft record -o T.weft -- mpirun -n 4 ./program");
  recorder::Launch launch;
  launch.command = o.command;
  launch.clock = o.clock;
  const std::string libraries = recorder::find_libraries();
  if (libraries.empty())
    return not_supported("recording", "a build of Weft with MPI (libweft_record_*.so are missing)");
  WEFT_ASSIGN(auto choice, recorder::choose_library(o.command, libraries));
  launch.library = std::move(choice.library);
  launch.launcher = choice.launcher;
  if (launch.library.find_first_of(" :") != std::string::npos)
    return not_supported("a recorder library in " + launch.library, "a path without space and colon");
  WEFT_ASSIGN(launch.spool_directory, make_spool_directory(o.output));
  const std::string& folder = launch.spool_directory;
  const std::string command = shell_line(o.command);
  if (auto written = keep_texts(folder, command); !written) {
    remove_spools(folder);
    return std::move(written).error();
  }
  auto code = recorder::run_recorded(launch);
  if (!code) {
    remove_spools(folder);
    return std::move(code).error();
  }
  // From here on somebody may have stopped reading what is told; the trace is written all the same.
  ::signal(SIGPIPE, SIG_IGN);
  auto merged = [&] {
    const InterruptedMerge guard(kept_text(folder));
    return merge(o, folder, command);
  }();
  const bool keep = !merged && has_spools(folder);
  if (keep || o.keep_spool) {
    if (keep) {
      tell(kept_text(folder));
    } else if (!o.common.quiet) {
      tell("weft record: spools kept in {}\n", folder);
    }
  } else {
    remove_spools(folder);
  }
  if (code.value() == 0) return merged;
  if (!merged) tell("weft record: {}\n", merged.error().message());
  std::fflush(nullptr);
  std::exit(code.value());  // the program's exit code is ours, whatever it is
}

}  // namespace

Action setup(CLI::App& app) {
  auto o = std::make_shared<Options>();
  add_common(app, o->common);
  add_trace_output(app, o->common, o->output, "the trace to write")->type_name("T.weft");
  app.add_option("--clock", o->clock,
                 with_default("compute time: CPU time of the thread, or wall time", o->clock))
      ->check(word({"cpu", "wall"}))
      ->type_name("cpu|wall");
  app.add_flag("--keep-spool", o->keep_spool, "keep the raw files of the ranks (T.weft.spool.PID)");
  app.add_option("--merge", o->merge_only, "run nothing: merge the spools that an earlier record left in DIR")
      ->type_name("DIR");
  app.add_flag("--salvage", o->salvage, "with --merge: a rank whose spool is damaged ends there");
  app.footer(
      "weft record -o T.weft -- mpirun -n 4 ./xhpl\n"
      "Results, output and exit code are the program's. A program that dies leaves a trace up to there.\n"
      "What a trace has no place for (one-sided, MPI-IO, dynamic processes) is counted in its header.\n"
      "Needs a program with a dynamically linked MPI; on several hosts the output folder must be shared.");
  app.add_option("command", o->parsed_command, "after --: the program or launcher, and its arguments")
      ->type_name("-- COMMAND...");
  return with_outputs(o->common, [o] {
    o->command = words_after_dashes();
    if (o->command.empty()) o->command = o->parsed_command;
    return record(*o);
  });
}

}  // namespace weft::cli::verb_record
