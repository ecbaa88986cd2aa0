#include "schedule/exhaustive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "core/check.hpp"
#include "core/threads/workers.hpp"
#include "schedule/async_tree.hpp"
#include "schedule/step_memo.hpp"

namespace weft::schedule {
namespace {

// Above this many roots no orbits are looked for.
constexpr double kMaxRoots = 1 << 22;
// The search for symmetries keeps a list per pair of ranks.
constexpr std::uint32_t kMaxSymmetricRanks = 128;
constexpr std::uint32_t kNoRoot = 0xffffffffu;
// A search that is kept is kept in so many pieces at most, of so many schedules at least: a tenth of a second or more.
constexpr double kMostPieces = 1024, kPieceSchedules = 1e5;

std::uint32_t wanted_pieces(const Exchange& e) {
  return static_cast<std::uint32_t>(std::min(kMostPieces, e.schedules() / kPieceSchedules));
}

struct Extreme {
  double seconds = 0;
  std::uint32_t root = kNoRoot;
  Order order;
};

// Whether `a` is shorter (longer) than `b`, or as long and of an earlier root.
bool before(const Extreme& a, const Extreme& b, bool shorter) {
  if (shorter ? sooner(a.seconds, b.seconds) : sooner(b.seconds, a.seconds)) return true;
  if (shorter ? sooner(b.seconds, a.seconds) : sooner(a.seconds, b.seconds)) return false;
  return a.root < b.root;
}

// What is kept of the schedules seen: their times counted, the first shortest and the first longest one.
class Leaves {
 public:
  void begin_root(std::uint32_t root, std::uint64_t weight) {
    root_ = root;
    weight_ = weight;
  }
  void add(double seconds, const Order& order) {
    ++count;
    tally.add(seconds, weight_);
    if (best.root == kNoRoot || sooner(seconds, best.seconds)) best = {seconds, root_, order};
    if (worst.root == kNoRoot || sooner(worst.seconds, seconds)) worst = {seconds, root_, order};
  }

  // Those of other roots.
  void merge(const Leaves& other) {
    tally.merge(other.tally);
    count += other.count;
    if (other.best.root == kNoRoot) return;
    if (best.root == kNoRoot || before(other.best, best, true)) best = other.best;
    if (worst.root == kNoRoot || before(other.worst, worst, false)) worst = other.worst;
  }
  [[nodiscard]] ExhaustivePiece piece() const {
    return {tally.cells(), count,      best.seconds, worst.seconds,
            best.root,     worst.root, best.order,   worst.order};
  }
  static Leaves of(const ExhaustivePiece& p) {
    Leaves l;
    l.tally.merge(p.times);
    l.count = p.simulated;
    l.best = {p.best_s, p.best_root, p.best};
    l.worst = {p.worst_s, p.worst_root, p.worst};
    return l;
  }

  TimeTally tally;
  Extreme best;
  Extreme worst;
  std::uint64_t count = 0;

 private:
  std::uint32_t root_ = 0;
  std::uint64_t weight_ = 1;
};

// A schedule takes well under a microsecond: the search is looked at from outside once in so many.
constexpr std::uint64_t kLeavesPerLook = 4096;

// How many schedules all walkers have counted.
struct Counted {
  const Control& control;
  double total = 0;
  std::atomic<std::uint64_t> done{0};
};

// The schedules of a walk, and whether it goes on.
struct Visit {
  Counted& counted;
  Leaves& leaves;
  bool reports = false;  // the progress of all
  bool over = false;
  std::uint64_t weight = 1;  // of the root
  std::uint64_t told = 0;    // leaves that are counted

  void begin_root(std::uint32_t root, std::uint64_t its_weight) {
    leaves.begin_root(root, its_weight);
    weight = its_weight;
    told = leaves.count;
  }
  void leaf(double seconds, const Order& order) {
    leaves.add(seconds, order);
    if (leaves.count % kLeavesPerLook != 0) return;
    tell();
    if (counted.control.stopped()) over = true;
  }
  void tell() {
    const std::uint64_t more = (leaves.count - std::exchange(told, leaves.count)) * weight;
    const std::uint64_t done = counted.done.fetch_add(more, std::memory_order_relaxed) + more;
    if (reports && counted.control.progress)
      counted.control.progress(static_cast<double>(done), counted.total, leaves.best.seconds);
  }
};

// Every branch to its end, unless the search is stopped.
struct WholeTree {
  struct State {};
  Visit& visit;
  static bool step() { return true; }
  static bool moved(const AsyncFrame<State>&, RateMemo::Row, double) { return true; }
  [[nodiscard]] bool over() const { return visit.over; }
  void leaf(double seconds, const Order& order) const { visit.leaf(seconds, order); }
};

// Walks all schedules below a root. One per thread.
class Walker {
 public:
  Walker(const Workload& workload, const RateOracle& oracle, Mode mode, Counted& counted)
      : visit_{counted, leaves},
        e_(workload.exchange),
        n_(workload.ranks()),
        mode_(mode),
        evaluator_(workload, oracle),
        tree_(e_, evaluator_.memo(), WholeTree{visit_}),
        steps_known_(mode == Mode::kBarrier ? evaluator_.memo().sets() : 0) {
    if (mode == Mode::kAsync) return;
    order_.resize(e_.messages.size());
    open_.resize(n_);
    steps_ = e_.most_sends();
    step_choice_.resize(static_cast<std::size_t>(steps_ + 1) * n_);
  }

  // `first` by rank: 0 = no message, k = its k-th. `reports`: on the thread that asked. False: stopped in the middle.
  bool walk(std::uint32_t root, std::span<const std::uint32_t> first, std::uint64_t weight, bool reports) {
    visit_.begin_root(root, weight);
    visit_.reports = reports;
    if (mode_ == Mode::kAsync) {
      tree_.start();
      for (std::uint32_t r = 0; r < n_; ++r) {
        if (first[r] != 0) tree_.begin_with(r, first[r] - 1);
      }
      tree_.run();
    } else {
      for (std::uint32_t r = 0; r < n_; ++r) {
        open_[r] = e_.sends(r) == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << e_.sends(r)) - 1;
      }
      std::uint64_t key = 0;
      for (std::uint32_t r = 0; r < n_; ++r) {
        step_choice_[r] = first[r];
        if (first[r] == 0) continue;
        key += first[r] * evaluator_.memo().stride(r);
        open_[r] &= ~(std::uint64_t{1} << (first[r] - 1));
        order_[e_.first[r]] = e_.first[r] + first[r] - 1;
      }
      next_step(1, step_time(key, step_choice_.data()));
    }
    visit_.tell();
    return !visit_.over;
  }

  Leaves leaves;
  [[nodiscard]] std::uint64_t sets_solved() { return evaluator_.memo().computed(); }

 private:
  double step_time(std::uint64_t key, const std::uint32_t* choice) {
    return steps_known_.seconds(key, [&] { return evaluator_.set_time(choice); });
  }

  void next_step(std::uint32_t step, double seconds) {
    if (step == steps_) {
      visit_.leaf(seconds, order_);
    } else {
      next_rank(step, 0, 0, seconds);
    }
  }

  void next_rank(std::uint32_t step, std::uint32_t r, std::uint64_t key, double seconds) {
    std::uint32_t* choice = step_choice_.data() + static_cast<std::size_t>(step) * n_;
    for (; r < n_ && open_[r] == 0; ++r) choice[r] = 0;
    if (r == n_) {
      next_step(step + 1, seconds + step_time(key, choice));
      return;
    }
    const std::uint64_t open = open_[r];
    for (std::uint64_t rest = open; rest != 0 && !visit_.over; rest &= rest - 1) {
      const auto k = static_cast<std::uint32_t>(std::countr_zero(rest));
      choice[r] = k + 1;
      open_[r] = open & ~(std::uint64_t{1} << k);
      order_[e_.first[r] + step] = e_.first[r] + k;
      next_rank(step, r + 1, key + (k + 1) * evaluator_.memo().stride(r), seconds);
    }
    open_[r] = open;
  }

  Visit visit_;
  const Exchange& e_;
  std::uint32_t n_;
  Mode mode_;
  Evaluator evaluator_;
  AsyncTree<WholeTree> tree_;
  // Barrier:
  std::uint32_t steps_ = 0;
  Order order_;
  std::vector<std::uint64_t> open_;  // messages not sent yet, as bits
  std::vector<std::uint32_t> step_choice_;
  StepMemo steps_known_;
};

// One of those that are idle, given back at the end. REQUIRES: one is.
template <class T>
class Borrowed {
 public:
  Borrowed(std::vector<T*>& idle, std::mutex& mutex) : idle_(idle), mutex_(mutex) {
    const std::lock_guard lock(mutex_);
    mine_ = idle_.back();
    idle_.pop_back();
  }
  ~Borrowed() {
    const std::lock_guard lock(mutex_);
    idle_.push_back(mine_);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  T& operator*() const { return *mine_; }
  T* operator->() const { return mine_; }

 private:
  std::vector<T*>& idle_;
  std::mutex& mutex_;
  T* mine_;
};

struct Root {
  std::uint32_t index;
  std::uint32_t weight;
};

// First messages of all ranks as mixed-radix numbers.
class Roots {
 public:
  explicit Roots(const Exchange& e) : e_(e) {
    for (std::uint32_t r = 0; r < e.ranks; ++r) count_ *= std::max(1u, e.sends(r));
  }
  [[nodiscard]] double count() const { return count_; }
  void decode(std::uint32_t index, std::vector<std::uint32_t>& first) const {
    first.resize(e_.ranks);
    for (std::uint32_t r = 0; r < e_.ranks; ++r) {
      const std::uint32_t sends = e_.sends(r);
      first[r] = sends == 0 ? 0 : index % sends + 1;
      if (sends != 0) index /= sends;
    }
  }
  [[nodiscard]] std::uint32_t encode(const std::vector<std::uint32_t>& first) const {
    std::uint32_t index = 0;
    for (std::uint32_t r = e_.ranks; r-- > 0;) {
      if (e_.sends(r) != 0) index = index * e_.sends(r) + first[r] - 1;
    }
    return index;
  }

 private:
  const Exchange& e_;
  double count_ = 1;
};

std::vector<Root> representatives(const Exchange& e, const Roots& roots, const SymmetryGroup& symmetry) {
  const auto n = static_cast<std::uint32_t>(roots.count());
  Orbits orbits(n);
  std::vector<std::uint32_t> first;
  std::vector<std::uint32_t> image(e.ranks);
  for (const Permutation& p : symmetry.generators) {
    const auto messages = message_images(e, p);
    for (std::uint32_t i = 0; i < n; ++i) {
      roots.decode(i, first);
      for (std::uint32_t r = 0; r < e.ranks; ++r) {
        image[p[r]] = first[r] == 0 ? 0 : messages[e.first[r] + first[r] - 1] - e.first[p[r]] + 1;
      }
      orbits.join(i, roots.encode(image));
    }
  }
  std::vector<std::uint32_t> weight(n, 0);
  for (std::uint32_t i = 0; i < n; ++i) ++weight[orbits.find(i)];
  std::vector<Root> list;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (weight[i] != 0) list.push_back({i, weight[i]});
  }
  return list;
}

}  // namespace

std::vector<std::uint32_t> message_images(const Exchange& e, const Permutation& ranks) {
  std::vector<std::uint32_t> image(e.messages.size());
  // Messages of one pair in order of size, then of declaration: equal pairs have equal lists.
  const auto of_pair = [&](std::uint32_t src, std::uint32_t dst) {
    std::vector<std::uint32_t> list;
    for (std::uint32_t m = e.first[src]; m < e.first[src + 1]; ++m) {
      if (e.messages[m].dst == dst) list.push_back(m);
    }
    std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
      return e.messages[a].bytes < e.messages[b].bytes;
    });
    return list;
  };
  for (std::uint32_t m = 0; m < e.messages.size(); ++m) {
    const Message& x = e.messages[m];
    const auto from = of_pair(x.src, x.dst);
    const auto to = of_pair(ranks[x.src], ranks[x.dst]);
    image[m] = to[static_cast<std::size_t>(std::find(from.begin(), from.end(), m) - from.begin())];
  }
  return image;
}

SymmetryGroup workload_symmetry(const Workload& w) {
  if (w.ranks() > kMaxSymmetricRanks) return {};
  std::vector<Arc> arcs;
  for (std::uint32_t m = 0; m < w.messages(); ++m) {
    const Message& x = w.exchange.messages[m];
    const auto route = w.links_of(m);
    arcs.push_back({x.src, x.dst, static_cast<std::uint64_t>(x.bytes.value()), {route.begin(), route.end()}});
  }
  return find_symmetry(w.ranks(), arcs, w.color, w.tie);
}

bool searched_in_pieces(const Exchange& e) { return wanted_pieces(e) >= 2; }

ExhaustiveResult search_exhaustively(const Workload& workload, const RateOracle& oracle, Mode mode,
                                     const SymmetryGroup& symmetry, const Control& control) {
  const Exchange& e = workload.exchange;
  const Roots roots(e);
  WEFT_CHECK(e.most_sends() <= 64, "too many sends to enumerate");
  const bool reduced = roots.count() <= kMaxRoots && !symmetry.generators.empty();
  WEFT_CHECK(roots.count() < 4e9, "too many schedules to enumerate");
  std::vector<Root> list;
  if (reduced) list = representatives(e, roots, symmetry);
  const auto tasks =
      reduced ? static_cast<std::uint32_t>(list.size()) : static_cast<std::uint32_t>(roots.count());

  std::atomic<std::uint32_t> next{0};
  Counted counted{control, e.schedules()};
  std::atomic<bool> cut{false};
  std::vector<std::unique_ptr<Walker>> walkers;
  const unsigned threads = std::max(1u, std::min(control.threads, tasks));
  for (unsigned t = 0; t < threads; ++t)
    walkers.push_back(std::make_unique<Walker>(workload, oracle, mode, counted));
  // Of a search that is not kept, or so short that it is one piece, every root is handed out alone.
  const bool kept = control.kept != nullptr && searched_in_pieces(e);
  const std::uint32_t pieces = kept ? std::min(tasks, wanted_pieces(e)) : tasks;
  const auto end_of = [&](std::uint32_t piece) {
    return static_cast<std::uint32_t>(std::uint64_t{tasks} * (piece + 1) / pieces);
  };
  const auto begin_of = [&](std::uint32_t piece) { return piece == 0 ? 0 : end_of(piece - 1); };
  const auto root_of = [&](std::uint32_t task) { return reduced ? list[task] : Root{task, 1}; };
  const auto weight_of = [&](std::uint32_t piece) {
    std::uint64_t weight = reduced ? 0 : end_of(piece) - begin_of(piece);
    if (!reduced) return weight;
    for (std::uint32_t task = begin_of(piece); task < end_of(piece); ++task) weight += root_of(task).weight;
    return weight;
  };
  // Its roots into walker.leaves; false: stopped in the middle.
  const auto walk = [&](Walker& walker, std::uint32_t piece, bool reports) {
    std::vector<std::uint32_t> first;
    const std::uint32_t begin = begin_of(piece);
    for (std::uint32_t task = begin; task < end_of(piece); ++task) {
      if (task != begin && control.stopped()) return false;
      const Root root = root_of(task);
      roots.decode(root.index, first);
      if (!walker.walk(root.index, first, root.weight, reports)) return false;
    }
    return true;
  };
  Leaves seen;
  if (kept) {
    std::mutex mutex;
    std::vector<Walker*> idle;
    idle.reserve(walkers.size());
    for (const auto& w : walkers) idle.push_back(w.get());
    std::vector<std::uint8_t> walked(pieces, 0);
    const auto caller = std::this_thread::get_id();
    PieceWork<ExhaustivePiece> work;
    work.run = [&](std::size_t i, ExhaustivePiece& out) {
      const auto piece = static_cast<std::uint32_t>(i);
      const Borrowed<Walker> walker(idle, mutex);
      walker->leaves = Leaves();
      walked[i] = 1;
      if (control.stopped() || !walk(*walker, piece, std::this_thread::get_id() == caller)) return false;
      out = walker->leaves.piece();
      return true;
    };
    work.take = [&](std::size_t i, ExhaustivePiece&& done_piece) {
      const std::lock_guard lock(mutex);
      seen.merge(Leaves::of(done_piece));
      if (walked[i] != 0) return;
      const double roots_of_piece = static_cast<double>(weight_of(static_cast<std::uint32_t>(i)));
      counted.done.fetch_add(static_cast<std::uint64_t>(roots_of_piece * e.schedules() / roots.count()),
                             std::memory_order_relaxed);
    };
    std::vector<Piece> named;
    named.reserve(pieces);
    for (std::uint32_t piece = 0; piece < pieces; ++piece)
      named.push_back(
          {fmt::format("{}roots {} to {} of {}", control.piece, begin_of(piece), end_of(piece), tasks),
           static_cast<double>(weight_of(piece))});
    const auto& run_pieces = control.within_piece ? control.kept->inner_roots : control.kept->roots;
    cut = !run_pieces(named, threads, work);
  } else {
    const auto work = [&](Walker& walker, bool reports) {
      while (true) {
        const std::uint32_t piece = next.fetch_add(1, std::memory_order_relaxed);
        if (piece >= pieces) return;
        if (control.stopped() || !walk(walker, piece, reports)) {
          cut = true;
          return;
        }
      }
    };
    Workers pool(threads - 1, [&](unsigned t) { work(*walkers[t], false); });
    if (control.on_threads) control.on_threads(pool.started() + 1, threads);
    work(*walkers[0], true);
    pool.join();
    seen = std::exchange(walkers[0]->leaves, Leaves());
    for (const auto& w : walkers) seen.merge(std::exchange(w->leaves, Leaves()));
  }

  ExhaustiveResult result;
  result.complete = !cut;
  for (const auto& w : walkers) result.sets_solved += w->sets_solved();
  result.simulated = seen.count;
  if (seen.best.root != kNoRoot) {
    result.best = seen.best.order;
    result.worst = seen.worst.order;
  }
  result.statistics = seen.tally.finish();
  result.schedules = static_cast<double>(result.statistics.count);
  return result;
}

}  // namespace weft::schedule
