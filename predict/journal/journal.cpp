#include "predict/journal/journal.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "core/counted.hpp"
#include "core/out_of_memory.hpp"

namespace weft::predict {
namespace {

constexpr std::string_view kPrefix = "points-", kSuffix = ".jsonl", kFormat = "journal/1", kClaims = "claims";
constexpr std::string_view kSum = ",\"sum\":\"";
constexpr std::size_t kTail = kSum.size() + 16 + 2;  // ,"sum":"0123456789abcdef"}
constexpr std::size_t kMaxLine = std::size_t{256} << 20;
constexpr std::size_t kChunk = std::size_t{1} << 20;

Error failure(const std::string& path, std::string_view what, int error) {
  return bad_input(path, fmt::format("{}: {}", what, std::strerror(error)));
}

// `object` with its sum as the last member, and the line's end.
std::string sealed(const Json& object) {
  const MustNotRunOutOfMemory of_json;
  std::string line = object.dump(-1, ' ', false, Json::error_handler_t::replace);
  line.pop_back();
  return line + fmt::format("{}{:016x}\"}}\n", kSum, checksum(line));
}

// What stands in a line whose sum is right; nothing in all others.
std::optional<Json> opened(std::string_view line) {
  const MustNotRunOutOfMemory of_json;
  if (line.size() <= kTail || line.front() != '{') return std::nullopt;
  const std::string_view body = line.substr(0, line.size() - kTail);
  if (line.substr(body.size()) != fmt::format("{}{:016x}\"}}", kSum, checksum(body))) return std::nullopt;
  Json j = Json::parse(line, nullptr, false);
  if (!j.is_object()) return std::nullopt;
  return j;
}

std::string text_at(const Json& j, const char* key) {
  const auto at = j.find(key);
  return at != j.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// JSON has no bytes that are no UTF-8, as names of files may have: the text as it comes back from a line.
std::string as_read(const std::string& text) {
  const MustNotRunOutOfMemory of_json;
  return Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

std::string hex_of(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return out;
}

// Empty where it is none.
std::string bytes_of_hex(std::string_view hex) {
  std::string out;
  if (hex.size() % 2 != 0) return out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    unsigned char byte = 0;
    const char* end = hex.data() + i + 2;
    if (std::from_chars(hex.data() + i, end, byte, 16).ptr != end) return {};
    out += static_cast<char>(byte);
  }
  return out;
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

// Of a regular file only: whatever else is called like one of ours is not waited for.
int open_to_read(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat st {};
  if (fd < 0 || (::fstat(fd, &st) == 0 && S_ISREG(st.st_mode))) return fd;
  ::close(fd);
  errno = EINVAL;
  return -1;
}

bool holds_points(std::string_view name) { return name.starts_with(kPrefix) && name.ends_with(kSuffix); }

// Names of the journal's files in a folder, in order.
Result<std::vector<std::string>> files_in(const std::string& folder) {
  DIR* d = ::opendir(folder.c_str());
  if (d == nullptr) return failure(folder, "cannot read the journal", errno);
  std::vector<std::string> out;
  while (const dirent* e = ::readdir(d)) {
    const std::string_view name(e->d_name);
    if (holds_points(name)) out.push_back(folder + "/" + std::string(name));
  }
  ::closedir(d);
  std::sort(out.begin(), out.end());
  return out;
}

struct flock byte_at(short type, std::int64_t at) {
  struct flock l {};
  l.l_type = type;
  l.l_whence = SEEK_SET;
  l.l_start = at;
  l.l_len = 1;
  return l;
}

}  // namespace

Journal::Claim::Claim(Claim&& o) noexcept : fd_(std::exchange(o.fd_, -1)), at_(o.at_) {}

Journal::Claim::~Claim() {
  if (fd_ < 0) return;
  struct flock l = byte_at(F_UNLCK, at_);
  ::fcntl(fd_, F_OFD_SETLK, &l);
}

Journal::~Journal() {
  if (own_ >= 0) ::close(own_);
  if (claims_ >= 0) ::close(claims_);
}

bool Journal::owns(std::string_view name) { return holds_points(name) || name == kClaims; }

Result<std::unique_ptr<Journal>> Journal::open(std::vector<std::string> folders, Access access,
                                               JournalHeader header, std::string version) {
  WEFT_CHECK(!folders.empty(), "a journal without a folder");
  std::unique_ptr<Journal> j(new Journal);
  j->folders_ = std::move(folders);
  j->header_ = std::move(header);
  j->version_ = std::move(version);
  if (access == Access::kAppend) {
    const std::string& first = j->folders_.front();
    if (::mkdir(first.c_str(), 0777) != 0 && errno != EEXIST)
      return failure(first, "cannot make the journal", errno);
    const std::string claims = fmt::format("{}/{}", first, kClaims);
    j->claims_ = ::open(claims.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
    if (j->claims_ < 0) return failure(claims, "cannot write the journal", errno);
  }
  WEFT_TRY(j->refresh());
  return j;
}

Result<void> Journal::refresh() {
  for (const std::string& folder : folders_) {
    WEFT_ASSIGN(const auto names, files_in(folder));
    for (const std::string& path : names) {
      if (path == own_path_) continue;
      const auto [at, fresh] = file_of_.try_emplace(path, static_cast<std::uint32_t>(files_.size()));
      if (fresh) files_.push_back({path, 0, false});
      WEFT_TRY(read_more(at->second));
    }
  }
  return {};
}

Result<void> Journal::read_more(std::uint32_t file) {
  File& f = files_[file];
  struct stat st {};
  if (f.given_up || ::stat(f.path.c_str(), &st) != 0 || static_cast<std::uint64_t>(st.st_size) <= f.read_to)
    return {};
  const Descriptor in(open_to_read(f.path));
  if (in.get() < 0) {
    if (errno == ENOENT) return {};
    if (errno != EINVAL) return failure(f.path, "cannot read the journal", errno);
    f.given_up = true;
    ++left_out_;
    return {};
  }
  std::string lines;  // from f.read_to on
  while (true) {
    const std::size_t old = lines.size();
    lines.resize(old + kChunk);
    const ssize_t n = ::pread(in.get(), lines.data() + old, kChunk, static_cast<off_t>(f.read_to + old));
    if (n < 0) return failure(f.path, "cannot read the journal", errno);
    lines.resize(old + static_cast<std::size_t>(n));
    std::size_t begin = 0;
    for (std::size_t end = lines.find('\n', old); end != std::string::npos; end = lines.find('\n', begin)) {
      take_line(file, f.read_to + begin, std::string_view(lines).substr(begin, end - begin));
      begin = end + 1;
    }
    f.read_to += begin;
    lines.erase(0, begin);
    // The rest is the line that its process is writing, or never came to its end.
    if (n == 0) return {};
    if (lines.size() > kMaxLine) {
      f.given_up = true;
      ++left_out_;
      return {};
    }
  }
}

void Journal::take_line(std::uint32_t file, std::uint64_t at, std::string_view line) {
  const auto j = opened(line);
  if (!j) {
    ++left_out_;
    return;
  }
  if (const auto key = PointKey::parse(text_at(*j, "point")); key && j->contains("value")) {
    places_.emplace(*key, Place{file, static_cast<std::uint32_t>(line.size()), at});
    return;
  }
  JournalHeader h{text_at(*j, "command"), {}};
  if (text_at(*j, "weft") != kFormat || h.command.empty()) {
    ++left_out_;
    return;
  }
  if (std::string bytes = bytes_of_hex(text_at(*j, "command_bytes")); !bytes.empty())
    h.command = std::move(bytes);
  h.shard = text_at(*j, "shard");
  if (std::find(headers_.begin(), headers_.end(), h) == headers_.end()) headers_.push_back(std::move(h));
}

std::optional<Journal::Found> Journal::first_of(const PointKey& key, int* error) {
  const MustNotRunOutOfMemory of_the_books;
  const std::lock_guard lock(mutex_);
  if (!places_.contains(key)) {
    // A folder that cannot be read any more holds nothing; who writes there is told.
    (void)refresh();
  }
  for (auto at = places_.lower_bound(key); at != places_.end() && at->first == key;) {
    const Place p = at->second;
    const Descriptor in(open_to_read(files_[p.file].path));
    std::string line(p.size, '\0');
    std::optional<Json> j;
    const ssize_t n =
        in.get() < 0 ? -1 : ::pread(in.get(), line.data(), line.size(), static_cast<off_t>(p.at));
    if (n < 0 && error != nullptr) *error = errno;
    if (n == static_cast<ssize_t>(line.size())) j = opened(line);
    if (j && text_at(*j, "point") == key.text() && j->contains("value"))
      return Found{std::move((*j)["value"]), p};
    // It was right when it was read first.
    at = places_.erase(at);
    ++left_out_;
  }
  return std::nullopt;
}

void Journal::leave_out(const PointKey& key, const Place& place) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = places_.equal_range(key);
  const auto at = std::find_if(first, last, [&](const auto& p) { return p.second == place; });
  if (at == last) return;  // another thread was here before
  places_.erase(at);
  ++left_out_;
}

std::optional<Json> Journal::find(const PointKey& key, int* error) {
  if (error != nullptr) *error = 0;
  auto found = first_of(key, error);
  if (!found) return std::nullopt;
  return std::move(found->value);
}

bool Journal::find(const PointKey& key, const std::function<bool(const Json&)>& take, int* error) {
  if (error != nullptr) *error = 0;
  while (const auto found = first_of(key, error)) {
    if (take(found->value)) return true;
    leave_out(key, found->place);
  }
  return false;
}

std::optional<Journal::Claim> Journal::claim(const PointKey& key) const {
  const auto at = static_cast<std::int64_t>(key.low >> 2);  // offsets of files are signed
  struct flock l = byte_at(F_WRLCK, at);
  if (::fcntl(claims_, F_OFD_SETLK, &l) == 0) return Claim(claims_, at);
  if (errno == EAGAIN || errno == EACCES) return std::nullopt;
  return Claim(-1, 0);
}

Result<void> Journal::create() {
  char host[64] = "host";
  (void)::gethostname(host, sizeof host - 1);
  std::string name(host);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '/' || c <= ' '; }, '_');
  for (int tries = 0; tries < 100; ++tries) {
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random) break;
    own_path_ =
        fmt::format("{}/{}{}-{}-{:016x}{}", folders_.front(), kPrefix, name, ::getpid(), random, kSuffix);
    own_ = ::open(own_path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (own_ >= 0 || errno != EEXIST) break;
  }
  if (own_ < 0) return failure(own_path_, "cannot write the journal", errno);
  files_.push_back({own_path_, 0, true});  // its lines are known
  file_of_[own_path_] = static_cast<std::uint32_t>(files_.size() - 1);
  // Its name is on the disk too.
  if (const Descriptor folder(::open(folders_.front().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      folder.get() >= 0)
    (void)::fsync(folder.get());
  Json j{{"weft", kFormat}, {"command", header_.command}};
  if (as_read(header_.command) != header_.command) j["command_bytes"] = hex_of(header_.command);
  if (!header_.shard.empty()) j["shard"] = header_.shard;
  return write_line(sealed(j));
}

Error Journal::broken(int error) {
  broken_ = error != 0 ? error : EIO;
  return failure(own_path_, "cannot write the journal", broken_);
}

Result<void> Journal::write_line(std::string_view line) {
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t n = ::write(own_, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return broken(n < 0 ? errno : ENOSPC);
    done += static_cast<std::size_t>(n);
  }
  own_size_ += line.size();
  return {};
}

Result<void> Journal::append(const PointKey& key, std::string_view what, const Json& value) {
  const MustNotRunOutOfMemory of_the_books;
  const std::string line = sealed(Json{{"point", key.text()}, {"what", what}, {"value", value}});
  {
    const std::lock_guard lock(mutex_);
    WEFT_CHECK(claims_ >= 0, "a journal that is only read");
    if (broken_ != 0) return broken(broken_);
    if (own_ < 0) WEFT_TRY(create());
    const Place place{file_of_[own_path_], static_cast<std::uint32_t>(line.size() - 1), own_size_};
    WEFT_TRY(write_line(line));
    places_.emplace(key, place);
  }
  // Others go on meanwhile: this is what takes time.
  if (::fdatasync(own_) == 0 || errno == EINVAL || errno == ENOTSUP) return {};
  const int error = errno;
  const std::lock_guard lock(mutex_);
  return broken(error);
}

std::string Journal::oddities() const {
  const std::lock_guard lock(mutex_);
  if (left_out_ == 0) return {};
  std::string where;
  for (const std::string& f : folders_) where += (where.empty() ? "" : ", ") + f;
  return fmt::format("journal {}: {} not whole or not Weft's, left out", where,
                     left_out_ == 1 ? std::string("1 line is") : fmt::format("{} lines are", left_out_));
}

std::uint64_t Journal::points() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t n = 0;
  for (auto at = places_.begin(); at != places_.end(); at = places_.upper_bound(at->first)) ++n;
  return n;
}

}  // namespace weft::predict
