#include "cli/interrupt.hpp"

namespace weft::cli {
namespace {

// A signal handler can reach nothing else.
std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);
struct sigaction before;

void on_interrupt(int) {
  interrupted.store(true, std::memory_order_relaxed);
  sigaction(SIGINT, &before, nullptr);
}

}  // namespace

Interrupt::Interrupt() {
  interrupted.store(false, std::memory_order_relaxed);
  struct sigaction mine = {};
  mine.sa_handler = on_interrupt;
  sigaction(SIGINT, &mine, &before);
  if (before.sa_handler == SIG_IGN) sigaction(SIGINT, &before, nullptr);  // nohup: it stays so
}

Interrupt::~Interrupt() {
  if (!interrupted.load(std::memory_order_relaxed)) sigaction(SIGINT, &before, nullptr);
}

const std::atomic<bool>* Interrupt::flag() const { return &interrupted; }

}  // namespace weft::cli
