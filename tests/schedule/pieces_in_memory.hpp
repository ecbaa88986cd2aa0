// Pieces of a search that last in memory: as a journal keeps them, without its files.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/threads/parallel.hpp"
#include "schedule/kept_pieces.hpp"

namespace weft::testing {

template <class T>
class PiecesInMemory {
 public:
  std::map<std::string, T> done;
  std::atomic<bool> stop{false};
  int most = 1000, times_kept = 0;  // `stop` is raised once so many more are kept
  bool refuse = false;              // none can be kept
  std::size_t part = 0, parts = 1;  // of the pieces, dealt by index
  bool run_missing = true;

  // Copies refer to this.
  [[nodiscard]] schedule::RunPieces<T> runner() {
    return [this](const std::vector<schedule::Piece>& pieces, unsigned threads,
                  const schedule::PieceWork<T>& work) { return run(pieces, threads, work); };
  }

 private:
  bool run(const std::vector<schedule::Piece>& pieces, unsigned threads, const schedule::PieceWork<T>& work) {
    std::atomic<bool> whole{true};
    const auto one = [&](std::size_t i) -> Result<void> {
      const std::string& name = pieces[i].name;
      if (work.needed && !work.needed(i)) return {};
      if (const T* known = find(name)) {
        work.take(i, T(*known));
        return {};
      }
      T made;
      if (i % parts != part || !run_missing || stop || !work.run(i, made) || !keep(name, made)) {
        whole = false;
        return {};
      }
      work.take(i, std::move(made));
      return {};
    };
    EXPECT_TRUE(run_parallel(pieces.size(), threads, one));
    return whole;
  }
  const T* find(const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto at = done.find(name);
    return at == done.end() ? nullptr : &at->second;
  }
  bool keep(const std::string& name, const T& piece) {
    const std::lock_guard lock(mutex_);
    if (refuse) return false;
    EXPECT_TRUE(done.emplace(name, piece).second) << name << " was searched twice";
    stop = ++times_kept >= most;
    return true;
  }
  std::mutex mutex_;
};

}  // namespace weft::testing
