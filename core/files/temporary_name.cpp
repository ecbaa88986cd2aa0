#include "core/files/temporary_name.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "core/hash.hpp"

namespace weft {

std::string folder_of(const std::string& target) {
  const auto slash = target.rfind('/');
  return slash == std::string::npos ? std::string() : target.substr(0, slash + 1);
}

std::string temporary_name(const std::string& target, bool first) {
  const std::string folder = folder_of(target);
  Fingerprint of_target;
  for (const char c : std::string_view(target).substr(folder.size()))
    of_target.add(static_cast<unsigned char>(c));
  if (first) return fmt::format("{}.weft-{:016x}.tmp", folder, of_target.value());
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != sizeof random) return {};
  return fmt::format("{}.weft-{:016x}-{:016x}.tmp", folder, of_target.value(), random);
}

bool is_at(int fd, const std::string& name) {
  struct stat mine {
  }, there{};
  return ::fstat(fd, &mine) == 0 && ::lstat(name.c_str(), &there) == 0 && mine.st_dev == there.st_dev &&
         mine.st_ino == there.st_ino;
}

bool take_lock(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

}  // namespace weft
