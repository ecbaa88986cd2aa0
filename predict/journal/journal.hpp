// Journal: finished points of a study, kept in a folder, so that nothing that is finished is ever run again: not after
// Ctrl-C, kill -9, a power cut or a full disk, nor by another process that works on the same study.
//
//  1. The folder holds files `points-*.jsonl`. Each is written by one process alone, from its beginning, line by line;
//     nobody else's file is ever touched. So processes on any number of machines write at once without a lock, folders
//     may be copied together, and what is torn is at most the last line of a file.
//  2. A line is one JSON object with the XXH64 of all that stands before it as its last member, "sum". A line without a
//     right sum (torn, foreign, edited) is left out and counted; so is a value of another format, and a later line of
//     its point counts.
//  3. A line is on the disk (fdatasync) before append() returns.
//  4. First line of a file: {"weft":"journal/1","command":"...","shard":"2/3","sum":"..."}: what the process was asked;
//     where that is no UTF-8, "command_bytes" has it in hexadecimal digits.
//     Every other one: {"point":"<key>","what":"<for people>","value":{...},"sum":"..."}.
//  5. Who works on a point holds a lock on it (a byte of the file `claims`), which ends with the process however that
//     ends. It saves work; where the file system knows no locks two may run the same point, and the first line counts.
//
// Memory: about a hundred bytes a point; values are read when asked for. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "predict/journal/point_key.hpp"

namespace weft::predict {

using Json = nlohmann::ordered_json;

// What a process was asked, as its journal tells it.
struct JournalHeader {
  std::string command;  // as outputs tell it: what decides the result
  std::string shard;    // "2/3"; empty: all points
  friend auto operator<=>(const JournalHeader&, const JournalHeader&) = default;
};

class Journal {
 public:
  enum class Access { kAppend, kRead };
  // Whether a file of that name in its folder is the journal's own.
  [[nodiscard]] static bool owns(std::string_view name);
  // Finished points are found in all `folders` and added to the first one, which is made where it is not there. kRead:
  // nothing is made, and append() is a bug. Errors: a folder that cannot be read or made.
  [[nodiscard]] static Result<std::unique_ptr<Journal>> open(std::vector<std::string> folders, Access access,
                                                             JournalHeader header, std::string version);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // The result of a point that somebody finished, also since this was opened. `error`: where it is there and cannot be
  // read, the errno; else 0.
  [[nodiscard]] std::optional<Json> find(const PointKey& key, int* error = nullptr);
  // Offers them to `take`, the first line first, until it takes one; what it does not take is left out from then on.
  [[nodiscard]] bool find(const PointKey& key, const std::function<bool(const Json&)>& take,
                          int* error = nullptr);

  // Holds a point while it is worked on.
  class Claim {
   public:
    Claim(Claim&& o) noexcept;
    ~Claim();

   private:
    friend class Journal;
    Claim(int fd, std::int64_t at) : fd_(fd), at_(at) {}
    int fd_;
    std::int64_t at_;
  };
  // None: another process works on it.
  [[nodiscard]] std::optional<Claim> claim(const PointKey& key) const;

  // `what` names the point for people. Errors: kBadInput where the line cannot be written whole; then no later one is
  // written either.
  [[nodiscard]] Result<void> append(const PointKey& key, std::string_view what, const Json& value);

  // Of all files, each once.
  [[nodiscard]] const std::vector<JournalHeader>& headers() const { return headers_; }
  // "journal DIR: 2 lines are not whole or not ours: left out"; empty if there are none.
  [[nodiscard]] std::string oddities() const;
  [[nodiscard]] const std::string& folder() const { return folders_.front(); }
  [[nodiscard]] const std::string& version() const { return version_; }
  [[nodiscard]] std::uint64_t points() const;
  [[nodiscard]] FileDigests& files() { return digests_; }

 private:
  struct File {
    std::string path;
    std::uint64_t read_to = 0;  // everything before is known
    bool given_up = false;      // no journal of ours
  };
  struct Place {
    std::uint32_t file = 0;
    std::uint32_t size = 0;
    std::uint64_t at = 0;
    friend bool operator==(const Place&, const Place&) = default;
  };
  struct Found {
    Json value;
    Place place;
  };
  Journal() = default;
  [[nodiscard]] std::optional<Found> first_of(const PointKey& key, int* error);
  void leave_out(const PointKey& key, const Place& place);
  [[nodiscard]] Result<void> refresh();
  [[nodiscard]] Result<void> read_more(std::uint32_t file);
  void take_line(std::uint32_t file, std::uint64_t at, std::string_view line);
  [[nodiscard]] Result<void> create();
  [[nodiscard]] Result<void> write_line(std::string_view line);
  [[nodiscard]] Error broken(int error);

  mutable std::mutex mutex_;
  std::vector<std::string> folders_;
  std::string version_;
  JournalHeader header_;
  std::vector<JournalHeader> headers_;
  std::vector<File> files_;
  std::map<std::string, std::uint32_t> file_of_;  // by path
  std::multimap<PointKey, Place> places_;         // of one point: in the order in which they were met
  std::uint64_t left_out_ = 0;
  FileDigests digests_;
  std::string own_path_;
  int own_ = -1;
  std::uint64_t own_size_ = 0;
  int claims_ = -1;
  int broken_ = 0;  // errno of a write that failed
};

}  // namespace weft::predict
