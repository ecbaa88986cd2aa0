// Readers of traces: .weft files, the messages inside of their frames, TI text.
#include <unistd.h>

#include <filesystem>

#include "tests/fuzz/replay_some.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/fuzz/target.hpp"
#include "traces/check/check.hpp"
#include "traces/weft/copy.hpp"
#include "traces/info.hpp"
#include "traces/kernel.hpp"

namespace weft::fuzz {
namespace {

using namespace traces;

// A copy of an accepted trace holds the same.
void copy_and_compare(TraceReader& t) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("weft_fuzz_copy_" + std::to_string(::getpid()) + ".weft");
  const auto copied = copy_to_weft(t, path);
  if (copied) {
    auto again = open_trace({path}, "weft");
    require(again.has_value(), "a copy of an accepted trace opens");
    const auto want = scan_trace(t), got = scan_trace(**again);
    require(want && got && want->totals.ops == got->totals.ops && want->totals.bytes == got->totals.bytes,
            "a copy of an accepted trace holds the same");
  }
  std::filesystem::remove(path);
}

bool run_file(std::string_view bytes) {
  const MemFile file(bytes);
  bool opened = false;
  for (const bool salvage : {false, true}) {
    auto t = open_trace_with({file.path()}, {{}, salvage});
    if (!t) continue;
    opened = true;
    const auto info = scan_trace(**t);
    (void)check_trace(**t);
    replay_some(**t);
    if (info && !salvage && info->totals.ops < 2000) copy_and_compare(**t);
  }
  return opened;
}

// The first byte says what the rest is (1 to 4: a frame's message after a byte of operations), else a whole file.
bool run_message(std::string_view data) {
  if (data.size() < 2) return run_file(data);
  const auto mode = static_cast<unsigned char>(data[0]);
  if (mode == 0 || mode > 4) return run_file(mode > 0x1f ? data : data.substr(1));
  return run_file(
      weft_around(static_cast<format::FrameType>(mode), data.substr(2), static_cast<unsigned char>(data[1])));
}

std::string message(format::FrameType type, std::string_view m, std::size_t ops) {
  return std::string{static_cast<char>(type), static_cast<char>(ops)} + std::string(m);
}

// Two calls of a kernel, a series with one, and what names the kernels of a file otherwise than WEFT_KERNELS.
std::string kernel_message() {
  OpBlock b;
  b.rank = RankId(0);
  const std::vector<std::int64_t> call = {0, 10, 20, 30}, series = {64, 2, 1, 1, 1, 9, -1, 8, 0, 1, 0};
  b.ops = {
      {.kind = OpKind::compute_kernel, .amount = std::bit_cast<std::int64_t>(4.0), .extra = b.add_list(call)},
      {.kind = OpKind::compute_kernel, .extra = b.add_list(call)},
      {.kind = OpKind::exchange_series, .peer = 0, .amount = 8, .extra = b.add_list(series)}};
  std::string out;
  (void)BlockEncoder().encode(b, 0, out);
  return out;
}

std::vector<std::string> message_seeds() {
  using format::FrameType;
  return {message(FrameType::kHeader, kHeaderMessageSeed, 0),
          message(FrameType::kDefinitions, kDefinitionsMessageSeed, 0),
          message(FrameType::kDefinitions,
                  bytes_of("\x2a\x05"
                           "dgemm\x2a\x05"
                           "dtrsv\x2a\x04"
                           "dnew"),
                  0),
          message(FrameType::kOps, block_message_seed(), block_seed().ops.size()),
          message(FrameType::kOps, kernel_message(), 3),
          message(FrameType::kIndex, kIndexMessageSeed, 0)};
}

}  // namespace

std::vector<Target> trace_targets() {
  return {
      {"weft",
       [] {
         return std::vector<std::string>{
             weft_seed(std::filesystem::temp_directory_path() / ("weft_seed_" + std::to_string(::getpid())))};
       },
       {std::string(4, '\xff'), std::string(8, '\0'), "WRFM"},
       400,
       run_file},
      {"weft_messages",
       message_seeds,
       {std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), std::string(1, '\0'), "\x80\x80\x80\x08",
        "\xff\xff\xff\xff\x0f", "\x7f", "\x12\x02\x08\x28", "\x12\x00", "\x2a\x00"},
       1500,
       run_message},
      {"ti",
       [] { return std::vector<std::string>{ti_seed()}; },
       {"0 send 1 5 8 0\n", "1 waitall\n", "0 wait 0 1 5\n", "1 comm_split\n", "0 test 0 1 5\n",
        "0 irecv 1 -444 8\n", "0 barrier\n", "\r", "\xef\xbb\xbf", "0 alltoallv 3 1 2 3 1 2\n", "15 init\n"},
       600,
       run_file}};
}

}  // namespace weft::fuzz
