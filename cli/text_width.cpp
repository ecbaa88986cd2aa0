#include "cli/text_width.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "report/table.hpp"

namespace weft::cli {

std::size_t text_width() {
  constexpr unsigned long kLeast = 20, kMax = 10'000;
  if (const char* columns = std::getenv("COLUMNS")) {
    char* end = nullptr;
    const unsigned long n = std::strtoul(columns, &end, 10);
    if (end != columns && *end == '\0' && n >= kLeast && n <= kMax) return n;
  }
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kLeast)
    return size.ws_col;
  return report::kUsualWidth;
}

}  // namespace weft::cli
