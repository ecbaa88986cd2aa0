// Appends records to a spool through mapped windows of its file (recorder side; no library needed).
//
// Cost: a record is stores into mapped memory; a system call only per kWindowBytes. Space is allocated before
// it is mapped, so that a full disk ends the recording (SpoolHeader::out_of_space) and never kills the
// program with SIGBUS. Not thread-safe: state.hpp holds the lock.
//
// The descriptor is one of the program's, which may close what it does not know and get the number for a file of its own:
// before it is used, it is looked at again.
#pragma once

#include <sys/stat.h>

#include "traces/recorder/spool.hpp"

namespace weft::recorder {

class SpoolWriter {
 public:
  // Creates the file and its header page. False: recording is impossible here.
  bool open(const char* path);
  [[nodiscard]] SpoolHeader& header() { return *header_; }
  [[nodiscard]] bool is_open() const { return header_ != nullptr; }
  // Windows stay mapped for ever: with threads a record of an old window can still be open.
  void keep_windows() { keep_ = true; }

  // Room for a record with that many list words, all zero; nullptr once out of space. It does not count
  // before publish(). Its address is valid until the second window after it.
  SpoolRecord* reserve(std::size_t list_words);
  static void publish(SpoolRecord* r, std::uint8_t kind, std::uint8_t flags, std::size_t list_words,
                      std::uint16_t thread = 0);
  static void set_flags(SpoolRecord* r, std::uint8_t flags);
  [[nodiscard]] static std::int64_t* list(SpoolRecord* r) { return reinterpret_cast<std::int64_t*>(r + 1); }

 private:
  bool next_window(std::size_t bytes);
  bool give_up(std::uint32_t why);
  [[nodiscard]] bool is_spool(int fd) const;
  bool have_descriptor();

  int fd_ = -1;
  char path_[4096] = {};
  struct stat file_ {};  // which file it is: device and number
  bool keep_ = false;
  SpoolHeader* header_ = nullptr;
  char* window_ = nullptr;
  std::size_t window_bytes_ = 0;
  std::size_t used_ = 0;
  char* previous_ = nullptr;
  std::size_t previous_bytes_ = 0;
  std::uint64_t file_bytes_ = 0;
};

}  // namespace weft::recorder
