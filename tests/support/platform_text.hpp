// A platform from text that stands in a test.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "topology/platform/platform.hpp"

namespace weft::testing {

// Precondition: the text is right; what is wrong with it fails the test and ends it.
inline topology::Platform platform_of_text(std::string_view text) {
  const std::string path = ::testing::TempDir() + "platform_" + std::to_string(::getpid()) + ".textproto";
  std::ofstream(path) << text;
  auto platform = topology::load_platform(path);
  std::filesystem::remove(path);
  EXPECT_TRUE(platform) << (platform ? "" : platform.error().message());
  return std::move(platform).value();
}

}  // namespace weft::testing
