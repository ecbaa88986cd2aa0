// weft record: runs a command with the recorder preloaded and merges what its ranks left into one trace.
//
// The exit code is the command's own; only a command that succeeded without any MPI rank, or whose trace
// cannot be written, makes weft's error count.
#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "cli/command_line.hpp"
#include "cli/values.hpp"
#include "cli/verb.hpp"
#include "core/atomic_file.hpp"
#include "core/quantity_text.hpp"
#include "report/json_text.hpp"
#include "report/table.hpp"
#include "traces/recorder/launch.hpp"
#include "traces/recorder/merge.hpp"

namespace weft::cli {
namespace {

struct Options {
  CommonOptions common;
  std::string output;
  std::string clock = "cpu";
  std::string merge_only;
  bool keep_spool = false;
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

std::string hpl_dat_here() {
  for (const char* name : {"HPL.dat", "hpccinf.txt"})
    if (::access(name, R_OK) == 0)
      if (auto text = read_file(name, 1 << 20)) return std::move(text).value();
  return {};
}

Result<std::string> make_spool_directory(const std::string& output) {
  std::string folder = output;
  if (folder.empty() || folder[0] != '/') {
    char* here = ::getcwd(nullptr, 0);
    if (here == nullptr)
      return bad_input(output, std::string("no working directory: ") + std::strerror(errno));
    folder = std::string(here) + "/" + output;
    std::free(here);
  }
  folder += fmt::format(".spool.{}", ::getpid());
  if (::mkdir(folder.c_str(), 0755) != 0)
    return bad_input(output, std::string("cannot write beside the output: ") + std::strerror(errno));
  return folder;
}

void remove_spools(const std::string& folder) {
  if (DIR* dir = ::opendir(folder.c_str())) {
    while (const dirent* entry = ::readdir(dir))
      if (std::string_view(entry->d_name).ends_with(".spool"))
        ::unlink((folder + "/" + entry->d_name).c_str());
    ::closedir(dir);
  }
  ::rmdir(folder.c_str());
}

// On standard error: standard output is the program's.
void report(const Options& o, const std::vector<recorder::RecordedTrace>& made) {
  if (o.common.quiet) return;
  for (const auto& t : made) {
    fmt::print(stderr, "weft record: {}: {} ranks, {} operations, {} messages, {}\n", t.path, t.ranks,
               show_count(static_cast<double>(t.totals.ops)),
               show_count(static_cast<double>(t.totals.messages)),
               show(Bytes(static_cast<std::int64_t>(t.totals.bytes))));
    for (const std::string& note : t.notes)
      if (note.starts_with("Rank ") || note.starts_with("Not recorded"))
        fmt::print(stderr, "weft record: {}\n", note);
  }
}

Result<void> merge(const Options& o, const std::string& folder, const std::vector<std::string>& command) {
  recorder::RunInfo info;
  info.recorder = "weft record " WEFT_VERSION;
  info.command_line = shell_line(command);
  info.hpl_dat = hpl_dat_here();
  WEFT_ASSIGN(const auto made, recorder::merge_spools(folder, o.output, info));
  if (made.empty())
    return bad_input(command.empty() ? folder : info.command_line, "no MPI rank was recorded", {},
                     "a program that calls MPI_Init and loads its MPI library dynamically");
  report(o, made);
  nlohmann::ordered_json j = {{"schema", "weft.record/1"}, {"traces", nlohmann::ordered_json::array()}};
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
  }
  WEFT_TRY(o.common.write_json(weft::report::json_text(j)));
  return o.common.write_csv(csv);
}

Result<void> record(const Options& o) {
  if (o.common.outputs->take_standard_output())
    return usage_error("standard output is the program's", "-", "a file for -o, --json and --csv");
  if (!o.merge_only.empty()) return merge(o, o.merge_only, {});
  if (o.command.empty())
    return usage_error("no command to record", {}, "weft record -o T.weft -- mpirun -n 4 ./program");
  recorder::Launch launch;
  launch.command = o.command;
  launch.clock = o.clock;
  launch.library = recorder::find_library();
  if (launch.library.empty())
    return not_supported("recording", "a build of Weft with MPI (libweft_record.so is missing)");
  if (launch.library.find_first_of(" :") != std::string::npos)
    return not_supported("a recorder library in " + launch.library, "a path without space and colon");
  WEFT_ASSIGN(launch.spool_directory, make_spool_directory(o.output));
  auto code = recorder::run_recorded(launch);
  if (!code) {
    remove_spools(launch.spool_directory);
    return std::move(code).error();
  }
  auto merged = merge(o, launch.spool_directory, o.command);
  if (o.keep_spool) {
    if (!o.common.quiet) fmt::print(stderr, "weft record: spools kept in {}\n", launch.spool_directory);
  } else {
    remove_spools(launch.spool_directory);
  }
  if (code.value() == 0) return merged;
  if (!merged) fmt::print(stderr, "weft record: {}\n", merged.error().message());
  std::fflush(nullptr);
  o.common.outputs->discard();
  std::exit(code.value());  // the program's exit code is ours, whatever it is
}

}  // namespace

Action setup_record(CLI::App& app) {
  auto o = std::make_shared<Options>();
  add_common(app, o->common);
  add_output(app, o->common, "-o,--output", o->output, "the trace to write", Outputs::Opened::kByVerb)
      ->required()
      ->type_name("T.weft");
  app.add_option("--clock", o->clock, "compute time: CPU time of the thread, or wall time [cpu]")
      ->check(word({"cpu", "wall"}))
      ->type_name("cpu|wall");
  app.add_flag("--keep-spool", o->keep_spool, "keep the raw files of the ranks (T.weft.spool.PID)");
  app.add_option("--merge", o->merge_only, "run nothing: merge the spools that an interrupted record left")
      ->type_name("DIR");
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

}  // namespace weft::cli
