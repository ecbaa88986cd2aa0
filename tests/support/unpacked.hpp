// What a recorded file of one zstd frame holds.
#pragma once

#include <gtest/gtest.h>
#include <zstd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace weft::support {

[[nodiscard]] inline std::string unpacked(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream packed;
  packed << in.rdbuf();
  const std::string bytes = packed.str();
  const auto size = ZSTD_getFrameContentSize(bytes.data(), bytes.size());
  if (size == ZSTD_CONTENTSIZE_UNKNOWN || size == ZSTD_CONTENTSIZE_ERROR) {
    ADD_FAILURE() << path << " is no frame of zstd that says its size";
    return {};
  }
  std::string out(size, '\0');
  EXPECT_EQ(ZSTD_decompress(out.data(), out.size(), bytes.data(), bytes.size()), out.size());
  return out;
}

}  // namespace weft::support
