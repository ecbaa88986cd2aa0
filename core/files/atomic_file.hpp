// An output that appears whole or not at all, where that can be: a regular file is written beside its place without a
// name (O_TMPFILE), and gets its name in commit(). A write that fails, is interrupted or killed leaves the old file as it
// was, and no other.
//
//  1. Symbolic links are followed: the link stays, the file behind it is replaced (or made).
//  2. Where the file system has no files without names, and for the moment in which an old file is replaced, it is called
//     .weft-....tmp: made new (O_EXCL), so that nothing that was put there beforehand is opened. It goes away with the
//     object and with an interrupt (core/files/temporaries.hpp). After SIGKILL the next run that writes the same file
//     removes it; who writes one holds a lock on it, so no run removes another's. (What close() closed has a name of its own and no lock: who closes many
//     of them does it in a WorkFolder.)
//  3. The file keeps its permissions, and its owner and group where the system lets us; a new one has those of the
//  umask.
//     A file that may not be written is not replaced. Other hard links keep the old content.
//  4. What is no regular file (device, FIFO, socket, terminal) is written straight, and so is a descriptor that is open
//     already ("-", /dev/stdout, /dev/fd/N): nothing of it can be taken back.
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "core/files/temporaries.hpp"
#include "core/files/work_folder.hpp"
#include "core/result.hpp"

namespace weft {

class AtomicFile {
 public:
  // "-" is standard output. Errors: kBadInput with the path and the system's reason.
  // `work`: where its temporary name stands from close() on, in the folder of the target; beside the target if nullptr.
  [[nodiscard]] static Result<AtomicFile> open(std::string path, const WorkFolder* work = nullptr);
  AtomicFile(AtomicFile&& o) noexcept;
  AtomicFile& operator=(AtomicFile&& o) noexcept;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // Buffered; a failure (disk full) is remembered and reported by close() or commit().
  void write(std::string_view bytes);
  [[nodiscard]] std::uint64_t written() const { return written_; }
  // Whether it is written straight, without a temporary.
  [[nodiscard]] bool straight() const { return straight_; }
  // Flushes; holds no descriptor after it, so it has a temporary name from here on, which nobody removes if the program is
  // killed, but that of a WorkFolder. For many files that are to appear together: commit_all() brings them to the disk.
  [[nodiscard]] Result<void> close();
  // close(), then renames over the target. After it the object is done.
  [[nodiscard]] Result<void> commit();

 private:
  AtomicFile() = default;
  friend Result<void> sync_all(std::span<AtomicFile> files);
  [[nodiscard]] Result<void> sync_open();
  [[nodiscard]] int open_for_sync() const;
  void discard();
  [[nodiscard]] Result<void> finish(int* held);
  [[nodiscard]] int put_in_place(int fd);
  [[nodiscard]] int name_temporary(int fd, bool first);
  void keep_name(const std::string& name, int fd);
  [[nodiscard]] Error failure(int error) const;
  std::string path_;    // as the user wrote it
  std::string target_;  // behind the links
  std::string beside_;  // temporaries stand in the folder of this one
  Temporary temporary_;
  std::FILE* file_ = nullptr;
  std::uint64_t written_ = 0;
  int first_error_ = 0;
  bool straight_ = false;
  bool nameless_ = false;  // the temporary has no name yet
  bool synced_ = false;    // what was written is on the disk, and nothing will be written after it
  bool done_ = false;
};

// Commits all of them, closed before or not, and lets no interrupt in between. All bytes are on the disk before the first has
// its name.
[[nodiscard]] Result<void> commit_all(std::span<AtomicFile> files);

// Writes `text` to `path` in one go; "-" is standard output.
[[nodiscard]] Result<void> write_output(const std::string& path, std::string_view text);

// The same text for two paths that lead to one file, whether it exists already or not.
[[nodiscard]] std::string output_identity(const std::string& path);
// Whether `path` is standard output: "-", /dev/stdout, /dev/fd/1 or a link to one.
[[nodiscard]] bool is_standard_output(const std::string& path);

}  // namespace weft
