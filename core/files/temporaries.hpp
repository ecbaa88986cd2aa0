// Names of unfinished files, so that an interrupt leaves none of them behind.
//
// A signal handler can reach nothing but what the whole program can reach: this list is the one thing in Weft that is
// global and written. It decides no result. The handler reads it without a lock and calls only what POSIX allows there.
#pragma once

#include <string>

namespace weft {

// The name of a file or a folder that is to go away unless keep() was called: with the object, or when an
// interrupt ends the program. Movable; the name stays where the handler saw it.
class Temporary {
 public:
  enum class Kind {
    kFile,
    kFolder,  // goes away only where it is empty
    kTree,    // a folder and all that is in it
  };
  Temporary() = default;
  // The thing exists already and is ours: it goes away, too, where this throws std::bad_alloc.
  Temporary(const std::string& path, Kind kind);
  Temporary(Temporary&& o) noexcept;
  Temporary& operator=(Temporary&& o) noexcept;
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary();

  [[nodiscard]] bool active() const { return entry_ != nullptr; }
  [[nodiscard]] const char* path() const;
  void keep();    // it is no longer ours: renamed, or wanted
  void remove();  // now

 private:
  struct Entry;
  friend struct TemporaryList;
  void forget(bool also_remove);
  Entry* entry_ = nullptr;
};

// Makes SIGINT, SIGTERM, SIGHUP and SIGPIPE remove every Temporary and then end the program as they would have (a shell
// sees 130 and 143 for the first two). A signal that is ignored (nohup) stays so. Called once, by main().
void remove_temporaries_when_interrupted();

// Every Temporary now, for a program that is about to end in a way that runs no destructor. Takes no memory.
void remove_temporaries();

// While one exists, interrupts wait: for a few renames that belong together. Nests.
class HoldInterrupts {
 public:
  HoldInterrupts();
  ~HoldInterrupts();
  HoldInterrupts(const HoldInterrupts&) = delete;
  HoldInterrupts& operator=(const HoldInterrupts&) = delete;
};

}  // namespace weft
