// --journal DIR, --shard i/n and --spread: finished points last, in every verb that runs many of them (predict/journal).
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/interrupt.hpp"
#include "cli/verb.hpp"
#include "predict/journal/points.hpp"

namespace weft::cli {

// What --shard says where it names no part: take all points from the journal, run none (weft merge).
inline constexpr const char* kShardMerge = "merge";
inline constexpr const char* kJournalFlag = "--journal";

class JournalFlags {
 public:
  void add(CLI::App& app);
  [[nodiscard]] bool wanted() const { return !folders_.empty(); }

  // What is taken by all processes together that mpirun or srun started is told by the first of them: this one is
  // another, or a shard.
  [[nodiscard]] bool silent() const { return sharded() || rank_ > 0; }
  // Opens the journal and listens for Ctrl-C and SIGTERM; nothing without --journal. A shard writes no output of its
  // own: `outputs` are those that were asked for. Errors: kUsage; a journal that cannot be opened.
  [[nodiscard]] Result<void> open(const CommonOptions& common, bool outputs);
  [[nodiscard]] const predict::PointsPlan& plan() const { return plan_; }
  [[nodiscard]] bool sharded() const { return plan_.shard.has_value(); }
  [[nodiscard]] bool spread() const { return spread_; }
  // --shard asks for one part of the points.
  [[nodiscard]] bool asks_for_part() const { return !shard_.empty() && shard_ != kShardMerge; }
  // Over processes, in one of the two ways.
  [[nodiscard]] bool divided() const { return spread_ || asks_for_part(); }
  // "shard 2/3: 67 points, ...": what a shard says when it is done; nothing of a rank. `awaited`: points of other shards
  // that its own next ones depend on.
  [[nodiscard]] std::string shard_text(const predict::PointsDone& done, std::size_t awaited = 0) const;
  // Why points are missing: "interrupted after 12 of 67 points, ..."; empty if none are.
  [[nodiscard]] std::string stopped(const predict::PointsDone& done) const;
  [[nodiscard]] std::string stopped(std::size_t finished, std::size_t wanted) const;

 private:
  std::vector<std::string> folders_;
  std::string shard_;
  bool spread_ = false;
  std::uint32_t rank_ = 0;  // among those of --spread
  std::unique_ptr<predict::Journal> journal_;
  std::optional<Interrupt> interrupt_;
  predict::PointsPlan plan_;
};

}  // namespace weft::cli
