#include "core/files/temporaries.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "core/out_of_memory.hpp"

namespace weft {

// An entry is never freed, only used again, so that the handler can walk the list at any moment.
struct Temporary::Entry {
  std::atomic<char*> name{nullptr};  // null: not in use
  Kind kind = Kind::kFile;
  Entry* next = nullptr;
  Entry* next_unused = nullptr;
};

struct TemporaryList {
  using Entry = Temporary::Entry;
  std::atomic<Entry*> head{nullptr};
  std::mutex mutex;         // of `unused` and of changes of head
  Entry* unused = nullptr;  // a list of its own: to give one back takes no memory
  std::atomic<int> holds{0};
  std::atomic<int> waiting{0};  // the signal that came while somebody held it
  std::atomic<bool> ending{false};

  static TemporaryList& the() {
    // Outlives every static destructor, and needs no memory: it is asked for when there is none, too.
    alignas(TemporaryList) static unsigned char room[sizeof(TemporaryList)];
    static TemporaryList* const list = new (room) TemporaryList;
    return *list;
  }

  Entry* add(const std::string& path, Temporary::Kind kind) {
    auto name = std::make_unique<char[]>(path.size() + 1);
    std::memcpy(name.get(), path.c_str(), path.size() + 1);
    const std::lock_guard lock(mutex);
    Entry* e = unused;
    if (e == nullptr) {
      e = new Entry;
      e->kind = kind;
      e->name = name.release();
      e->next = head;
      head = e;
    } else {
      unused = e->next_unused;
      e->kind = kind;
      e->name = name.release();
    }
    return e;
  }

  // The name, or null where the handler was faster.
  char* take(Entry* e) {
    char* name = e->name.exchange(nullptr);
    const std::lock_guard lock(mutex);
    e->next_unused = unused;
    unused = e;
    return name;
  }

  // By system calls alone: opendir() allocates, which a handler may not. Who is removed while a folder is read may hide
  // another one from that pass, so it is read again until nothing is left.
  static void remove_tree(int at, const char* name) {
    if (::unlinkat(at, name, 0) == 0 || errno == ENOENT) return;
    const int folder = ::openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0) return;
    constexpr int kPasses = 100;
    for (int pass = 0; pass < kPasses && ::unlinkat(at, name, AT_REMOVEDIR) != 0; ++pass) {
      ::lseek(folder, 0, SEEK_SET);
      alignas(dirent64) char entries[4096];
      for (long n; (n = ::syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;)
        for (long i = 0; i < n;) {
          const auto* e = reinterpret_cast<const dirent64*>(entries + i);
          i += e->d_reclen;
          if (std::strcmp(e->d_name, ".") != 0 && std::strcmp(e->d_name, "..") != 0)
            remove_tree(folder, e->d_name);
        }
    }
    ::close(folder);
  }

  static void remove_one(const char* name, Temporary::Kind kind) {
    if (kind == Temporary::Kind::kTree)
      remove_tree(AT_FDCWD, name);
    else if (kind == Temporary::Kind::kFolder)
      ::rmdir(name);
    else
      ::unlink(name);
  }

  void remove_all(Temporary::Kind kind) {
    for (Entry* e = head; e != nullptr; e = e->next) {
      if (e->kind != kind) continue;
      if (const char* name = e->name.exchange(nullptr)) remove_one(name, kind);
    }
  }

  void remove_all() {
    remove_all(Temporary::Kind::kFile);
    remove_all(Temporary::Kind::kTree);
    remove_all(Temporary::Kind::kFolder);
  }

  static sigset_t ours() {
    sigset_t set;
    ::sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::sigaddset(&set, signal);
    return set;
  }

  // Runs in the handler. A program is often told twice (timeout and shells send to the process and to its group), and the
  // second one may come to another thread: that one waits for its end here, since to end it there would be too early.
  void end_by(int signal) {
    sigset_t set = ours();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    if (ending.exchange(true))
      for (;;) ::pause();
    remove_all();
    ::signal(signal, SIG_DFL);
    ::raise(signal);
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  }
};

namespace {
static_assert(std::atomic<char*>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_signal(int signal) {
  TemporaryList& list = TemporaryList::the();
  if (list.holds > 0)
    list.waiting = signal;
  else
    list.end_by(signal);
}
}  // namespace

// What exists goes away again where there is no memory to remember it: before the program ends.
Temporary::Temporary(const std::string& path, Kind kind) try {
  const MayRunOutOfMemory goes_away_first;
  entry_ = TemporaryList::the().add(path, kind);
} catch (...) {
  TemporaryList::remove_one(path.c_str(), kind);
}
Temporary::Temporary(Temporary&& o) noexcept : entry_(std::exchange(o.entry_, nullptr)) {}
Temporary& Temporary::operator=(Temporary&& o) noexcept {
  if (this != &o) {
    remove();
    entry_ = std::exchange(o.entry_, nullptr);
  }
  return *this;
}
Temporary::~Temporary() { remove(); }

const char* Temporary::path() const {
  const char* name = entry_ == nullptr ? nullptr : entry_->name.load();
  return name == nullptr ? "" : name;
}
void Temporary::keep() { forget(false); }
void Temporary::remove() { forget(true); }

void Temporary::forget(bool also_remove) {
  if (entry_ == nullptr) return;
  const Kind kind = entry_->kind;
  char* name = TemporaryList::the().take(std::exchange(entry_, nullptr));
  if (name == nullptr) return;
  if (also_remove) TemporaryList::remove_one(name, kind);
  delete[] name;
}

void remove_temporaries_when_interrupted() {
  (void)TemporaryList::the();  // made now, not in the handler
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction old {};
    if (::sigaction(signal, nullptr, &old) != 0 || old.sa_handler == SIG_IGN) continue;
    struct sigaction ours {};
    ours.sa_handler = on_signal;
    ours.sa_mask = TemporaryList::ours();
    ::sigaction(signal, &ours, nullptr);
  }
}

void remove_temporaries() { TemporaryList::the().remove_all(); }

HoldInterrupts::HoldInterrupts() { ++TemporaryList::the().holds; }
HoldInterrupts::~HoldInterrupts() {
  TemporaryList& list = TemporaryList::the();
  if (--list.holds > 0) return;
  if (const int signal = list.waiting.exchange(0)) list.end_by(signal);
}

}  // namespace weft
