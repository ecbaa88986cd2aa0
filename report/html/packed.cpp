#include "report/html/packed.hpp"

#include <zlib.h>

#include <cstdint>
#include <new>

#include "core/result.hpp"

namespace weft::report {

std::string base64_deflated(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::vector<Bytef> out(size);
  const int status =
      compress2(out.data(), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 6);
  if (status == Z_MEM_ERROR) throw std::bad_alloc();
  WEFT_CHECK(status == Z_OK, "zlib does not compress");
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((size + 2) / 3 * 4);
  for (std::size_t i = 0; i < size; i += 3) {
    const std::size_t n = std::min<std::size_t>(3, size - i);
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) three = three << 8 | (k < n ? out[i + k] : 0u);
    for (std::size_t k = 0; k < 4; ++k) text += k <= n ? kDigits[three >> (18 - 6 * k) & 63u] : '=';
  }
  return text;
}

}  // namespace weft::report
