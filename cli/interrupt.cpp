#include "cli/interrupt.hpp"

#include <cstdio>
#include <iterator>
#include <utility>

namespace weft::cli {
namespace {

// A signal handler can reach nothing else.
std::atomic<bool> stop_asked_for{false};
std::atomic<int> by_signal{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);
constexpr int kSignals[] = {SIGINT, SIGTERM};
struct Handled {
  int signal = 0;
  struct sigaction before;
};
Handled handled[std::size(kSignals)];
bool ends_by_signal = false;

void on_interrupt(int signal) {
  by_signal.store(signal, std::memory_order_relaxed);
  stop_asked_for.store(true, std::memory_order_relaxed);
  for (const Handled& h : handled)
    if (h.signal == signal) sigaction(signal, &h.before, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  stop_asked_for.store(false, std::memory_order_relaxed);
  int n = 0;
  for (const int signal : kSignals) {
    Handled& h = handled[n++];
    struct sigaction mine = {};
    mine.sa_handler = on_interrupt;
    sigaction(signal, nullptr, &h.before);
    if (h.before.sa_handler == SIG_IGN) continue;  // nohup: it stays so
    h.signal = signal;
    sigaction(signal, &mine, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (Handled& h : handled) {
    if (h.signal != 0 && (!raised() || by_signal.load() != h.signal)) sigaction(h.signal, &h.before, nullptr);
    h.signal = 0;
  }
}

const std::atomic<bool>* Interrupt::flag() const { return &stop_asked_for; }

Error interrupted(std::string why) {
  ends_by_signal = true;
  return Error{ErrorCode::kFinding, {}, std::move(why), {}, {}};
}

void end_if_interrupted() {
  const int signal = by_signal.load();
  if (!ends_by_signal || signal == 0) return;
  std::fflush(stdout);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace weft::cli
