// A replay for other tools, in its own time: the rows of replay_exports.def. A format is one source file that includes
// this header, one row, one test.
//
// The life of one: made when the command line is read, opened before the replay (a place that cannot be written is told
// at once), written after it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/files/atomic_file.hpp"
#include "predict/run_facts.hpp"
#include "report/timeline/timeline.hpp"
#include "traces/formats.hpp"
#include "traces/formats/otf2/write/replayed.hpp"

namespace weft::report {

// What a replay left behind.
struct Replayed {
  traces::TraceReader& trace;                      // the one that was replayed
  std::string title;                               // "hpl.weft on fat-tree-16"
  const std::vector<std::uint32_t>& node_of_rank;  // 0-based, in order of first use
  const Timeline& timeline;                        // where a format shows a choice of ranks and times,
  const traces::ReplayedOps& ops;  // and where it shows every operation; the other one is empty
  const predict::RunFacts& facts;
  std::vector<std::string>* warnings = nullptr;  // as traces::ExportOptions::warnings
};

class ReplayExport {
 public:
  // What of the replay a format needs, which decides what is kept while it runs.
  enum class Shows {
    kChoice,  // the ranks and times that --ranks, --from-time and --to-time choose: a Timeline, in bounded memory
    kCalls,      // ... and which calls messages are of
    kTimes,      // of every operation when it began and ended: 16 B an operation in memory
    kEverything  // and of every receive which message it took: 32 B a receive more
  };

  virtual ~ReplayExport() = default;
  [[nodiscard]] virtual Shows shows() const = 0;
  // What it writes, by name: no other output may be one of them.
  [[nodiscard]] virtual std::vector<std::string> places() const = 0;
  // Errors: kNotSupported, kBadInput.
  [[nodiscard]] virtual Result<void> open() = 0;
  // Everything appears whole, and together.
  [[nodiscard]] virtual Result<void> write(const Replayed& run) = 0;
};

#define WEFT_REPLAY_EXPORT(id, name, what) \
  [[nodiscard]] std::unique_ptr<ReplayExport> replay_export_##id(std::string place);
#include "report/timeline/replay_exports.def"
#undef WEFT_REPLAY_EXPORT

[[nodiscard]] const std::vector<traces::FormatName>& replay_exports();
// Error: kUsage (unknown format, with the known ones).
[[nodiscard]] Result<std::unique_ptr<ReplayExport>> make_replay_export(std::string_view format,
                                                                       std::string place);

// For formats of a choice that are whole files: opens them, and lets all appear once they are written.
class ReplayFiles : public ReplayExport {
 public:
  explicit ReplayFiles(std::vector<std::string> places) : places_(std::move(places)) {}
  [[nodiscard]] Shows shows() const override { return Shows::kChoice; }
  [[nodiscard]] std::vector<std::string> places() const override { return places_; }
  [[nodiscard]] Result<void> open() override;
  [[nodiscard]] Result<void> write(const Replayed& run) override;

 protected:
  // In the order of the places.
  [[nodiscard]] virtual Result<void> write_files(const Replayed& run, std::span<AtomicFile> files) const = 0;

 private:
  std::vector<std::string> places_;
  std::vector<AtomicFile> files_;
};

}  // namespace weft::report
