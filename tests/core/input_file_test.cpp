// What every text that Weft reads obeys, and what a message may show of one.
#include "core/files/input_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "core/files/csv.hpp"
#include "core/printable.hpp"

namespace weft {
namespace {

std::string write(const std::string& bytes) {
  const std::string path =
      std::filesystem::path(::testing::TempDir()) / ("weft_input_file_" + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}
// The text, or the message with the path written as F.
std::string text_of(const std::string& bytes) {
  const std::string path = write(bytes);
  const auto text = read_text(path);
  std::string m = text ? *text : text.error().message();
  std::filesystem::remove(path);
  if (m.starts_with(path)) m.replace(0, path.size(), "F");
  return m;
}

TEST(InputFile, ATextIsWithoutItsByteOrderMarkAndWithItsLineEnds) {
  EXPECT_EQ(text_of("\xef\xbb\xbf"
                    "a\r\nb\n"),
            "a\r\nb\n");
  EXPECT_EQ(text_of("a\xef\xbb\xbf"), "a\xef\xbb\xbf") << "only in front";
  EXPECT_EQ(text_of(""), "");
  EXPECT_EQ(text_of("a\r\r\nb\r"), "a\r\r\nb\r") << "before a line feed, or at the end";
}

TEST(InputFile, ACarriageReturnInsideALineAndAZeroByteAreErrorsWithTheirPlace) {
  EXPECT_EQ(text_of("ab\ncd\re\n"),
            "F:2:3: error: a carriage return inside a line; expected lines that end in LF or in CR LF");
  EXPECT_EQ(text_of("a\rb"),
            "F:1:2: error: a carriage return inside a line; expected lines that end in LF or in CR LF");
  EXPECT_EQ(text_of(std::string("ab\n\nc\0d", 7)),
            "F:3:2: error: a zero byte: this is no text; expected UTF-8 or ASCII text");
}

// What was read fills the memory that it is read into, or not quite, or more than once.
TEST(InputFile, AFileAndAPipeOfAnyLengthAreReadWhole) {
  for (const std::size_t size : {0u, 1u, 65'535u, 65'536u, 65'537u, 131'072u, 500'000u}) {
    std::string bytes(size, 'x');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>('a' + i * i % 26);
    const std::string path = write(bytes);
    const auto file = read_bytes(path);
    ASSERT_TRUE(file);
    EXPECT_EQ(std::string(file->begin(), file->end()), bytes);
    EXPECT_EQ(*read_file(path, size), bytes) << "as many as the limit";
    if (size > 0) {
      EXPECT_FALSE(read_file(path, size - 1));
    }
    std::filesystem::remove(path);
    const std::string fifo = path + std::to_string(size);
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    std::thread writer([&] { std::ofstream(fifo, std::ios::binary) << bytes; });
    const auto pipe = read_file(fifo);
    writer.join();
    ASSERT_TRUE(pipe);
    EXPECT_EQ(*pipe, bytes);
    // Nobody writes any more; what it gave is there still.
    EXPECT_EQ(*read_file(fifo), bytes);
    EXPECT_EQ(read_bytes(fifo)->size(), size);
    if (size > 0) {
      EXPECT_FALSE(read_file(fifo, size - 1));
    }
    std::filesystem::remove(fifo);
  }
  std::string text(200'000, '\n');
  text[150'000] = 0;
  EXPECT_EQ(text_of(text), "F:150001:1: error: a zero byte: this is no text; expected UTF-8 or ASCII text");
}

TEST(InputFile, WhatHasNoEndIsRefusedSoon) {
  const auto zero = read_text("/dev/zero");
  ASSERT_FALSE(zero);
  EXPECT_EQ(zero.error().message(),
            "/dev/zero:1:1: error: a zero byte: this is no text; expected UTF-8 or ASCII text");
  const auto bytes = read_file("/dev/zero");
  ASSERT_FALSE(bytes);
  EXPECT_EQ(
      bytes.error().message(),
      "/dev/zero: error: a pipe or device gives too much; got \"more than 67108864 bytes\"; expected at most "
      "67108864 bytes");
  const std::string path = write("12345");
  EXPECT_EQ(read_file(path, 4).error().message(),
            path + ": error: the file is too large; got \"5 bytes\"; expected at most 4 bytes");
  EXPECT_EQ(*read_file(path, 5), "12345");
  std::filesystem::remove(path);
  EXPECT_EQ(read_file("/").error().what, "cannot read: it is a directory");
}

TEST(Printable, NoTerminalObeysAMessage) {
  EXPECT_EQ(printable("plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"),
            "plain \xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
  EXPECT_EQ(printable("\x1b]0;title\x07\x1b[2J"), "\\x1b]0;title\\x07\\x1b[2J");
  EXPECT_EQ(printable("a\nb\tc\rd\x7f"), "a\\nb\\tc\\rd\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\xc2\\x9b2J")
      << "CSI as one character";
  EXPECT_EQ(printable("\xff\xc3 \xe2\x82"), "\\xff\\xc3 \\xe2\\x82") << "no UTF-8";
  EXPECT_EQ(printable("\xc0\xaf \xed\xa0\x80 \xf4\x90\x80\x80"),
            "\\xc0\\xaf \\xed\\xa0\\x80 \\xf4\\x90\\x80\\x80")
      << "overlong, a surrogate, beyond Unicode";
}

TEST(Printable, AMessageShowsTheBeginningOfALongText) {
  EXPECT_EQ(printable_lines("one\ntwo\t\x1b[2J\n\nthree"), "one\ntwo\\t\\x1b[2J\n\nthree");
  EXPECT_EQ(printable_lines("\n"), "\n");
  EXPECT_EQ(printable_lines(""), "");
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcdef... (7 bytes)");
  EXPECT_EQ(printable("abcde\xc3\xa4", 6), "abcde... (7 bytes)") << "no half of a character";
  const std::string m = bad_input("f:1:1", "too long", std::string(5'000'000, 'x'), "less").message();
  EXPECT_EQ(m, "f:1:1: error: too long; got \"" + std::string(Error::kMaxGot, 'x') +
                   "... (5000000 bytes)\"; expected less");
  // Even where the place, the fault and what is expected are hostile, too.
  EXPECT_LT(bad_input(std::string(1 << 20, '\x1b'), std::string(1 << 20, '\n'), std::string(1 << 20, '\0'),
                      std::string(1 << 20, 'x'))
                .message()
                .size(),
            40'000u);
}

}  // namespace
}  // namespace weft
