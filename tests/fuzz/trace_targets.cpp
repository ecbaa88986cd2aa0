// Readers of traces: .weft files, the messages inside of their frames, DUMPI files, GOAL schedules, Dimemas and Paraver traces, TI text.
#include <unistd.h>
#include <zstd.h>

#include <cstdio>
#include <filesystem>

#include "tests/fuzz/replay_some.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/dumpi_writer.hpp"
#include "tests/support/well_formed.hpp"
#include "traces/check/check.hpp"
#include "traces/exports/export.hpp"
#include "traces/info.hpp"
#include "traces/kernel.hpp"
#include "traces/weft/copy.hpp"

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
    // A replay of a .weft file believes its decoder.
    if ((*t)->well_formed()) {
      const std::string fault = support::first_fault(**t);
      require(fault.empty(), "an operation that was read obeys the rules: " + fault);
    }
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

// Without a checksum, so that what is damaged is unpacked, too.
std::string compressed(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1));
  return packed;
}

// A tar as SMPI's users make them, with plain headers: the checks of a tar stop mutations of its bytes early.
std::string tar_of(const std::vector<std::pair<std::string, std::string>>& files) {
  constexpr std::size_t kBlock = 512;
  std::string tar;
  for (const auto& [name, text] : files) {
    std::string h(kBlock, '\0');
    h.replace(0, std::min<std::size_t>(name.size(), 99), name, 0, 99);
    h.replace(100, 7, "0000644");
    char octal[12];
    std::snprintf(octal, sizeof octal, "%011zo", text.size());
    h.replace(124, 11, octal);
    h[156] = '0';
    h.replace(257, 8,
              bytes_of("ustar\0"
                       "00"));
    h.replace(148, 8, 8, ' ');
    unsigned sum = 0;
    for (const char c : h) sum += static_cast<unsigned char>(c);
    std::snprintf(octal, sizeof octal, "%06o", sum);
    h.replace(148, 7, octal, 7);
    tar += h + text;
    tar.resize((tar.size() + kBlock - 1) / kBlock * kBlock, '\0');
  }
  return tar.append(2 * kBlock, '\0');
}

// Files of one trace in a tar: each begins with a line "== NAME".
bool run_files(std::string_view bytes) {
  std::vector<std::pair<std::string, std::string>> files;
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.find("\n== ") + 1, bytes.size());
    std::string_view file = bytes.substr(0, size == 0 ? bytes.size() : size);
    bytes.remove_prefix(file.size());
    if (file.starts_with("== ")) file.remove_prefix(3);
    const std::size_t line = std::min(file.find('\n'), file.size());
    files.emplace_back(file.substr(0, line), file.substr(std::min(line + 1, file.size())));
  }
  return run_file(tar_of(files));
}

// Files of the ranks of one DUMPI trace: each begins with the magic after a byte 0x01, which no file begins with.
constexpr std::string_view kNextRank{"\x01\xff\xaa\xdd\x44UMPI", 9};
bool run_dumpi(std::string_view bytes) {
  constexpr std::size_t kMaxFiles = 8;
  std::vector<std::unique_ptr<MemFile>> files;
  std::vector<std::string> paths;
  while (files.size() < kMaxFiles) {
    const std::size_t next = bytes.find(kNextRank);
    files.push_back(std::make_unique<MemFile>(bytes.substr(0, next)));
    paths.push_back(files.back()->path());
    if (next == std::string_view::npos) break;
    bytes.remove_prefix(next + 1);
  }
  auto t = open_trace(paths, "dumpi");
  if (!t) return false;
  const auto info = scan_trace(**t);
  (void)check_trace(**t);
  replay_some(**t);
  if (!info) return false;
  require(info->totals.ops == (*t)->totals().ops && info->totals.bytes == (*t)->totals().bytes,
          "the second reading of a DUMPI trace holds what the first one counted");
  if (info->totals.ops > 0) (void)(*t)->position(RankId(0), info->totals.ops / 2);
  if (info->totals.ops < 2000) copy_and_compare(**t);
  return true;
}

// Two ranks with one call of each kind that means something; `version` decides about layouts.
std::string dumpi_seed(weft::testing::DumpiWriter::Version version) {
  using namespace weft::testing;
  std::string all;
  for (int me = 0; me < 2; ++me) {
    DumpiWriter w(version);
    const int other = 1 - me;
    w.init()
        .comm_rank(kDumpiWorld, me)
        .comm_split(kDumpiWorld, 0, -me, 4)
        .comm_group(4, 3)
        .group_of_ranks(76, 3, {1, 0}, 4);
    w.comm_create(kDumpiWorld, 4, 5)
        .cart_create(kDumpiWorld, {2, 1}, false, 6)
        .cart_sub(6, {1, 0}, 7)
        .comm_dup(6, 8);
    w.group_of_ranges(78, 3, {{0, 1, 1}}, 9).group_of_two(73, 3, 9, 10).type_contiguous(3, kDumpiInt, 28);
    w.irecv(4, kDumpiInt, -1, -1, 2)
        .isend(4, kDumpiInt, other, 7, 3)
        .waitall({2, 3}, {{16, other, 7}, {0, 0, 0}});
    w.isend(1, 28, other, 8, 4, 4, 26)
        .irecv(1, 28, other, 8, 5, 4, 30)
        .startall({4, 5})
        .waitsome({4, 5}, {0, 1});
    w.request_free(4)
        .request_free(5)
        .sendrecv(8, other, 1, 8, other, 1, {{8, other, 1}})
        .iprobe(other, 9, false);
    w.isend(2, kDumpiByte, other, 9, 6)
        .iprobe(other, 9, true, {{2, other, 9}})
        .recv(2, kDumpiByte, other, 9)
        .test(6, true);
    w.irecv(1, kDumpiByte, other, 99, 7)
        .cancel(7)
        .waitany({7}, 0, {{0, 0, 0, true}})
        .barrier(5)
        .bcast(3, kDumpiInt, 0, 6);
    w.gatherv(me, 2, me + 1, kDumpiInt, 1, {1, 2})
        .alltoallv({1, 2}, {1 + me, 1 + me}, kDumpiInt)
        .allgatherv(me + 1, {1, 2}, kDumpiByte);
    w.alltoallw({1, 2}, {1 + me, 1 + me}, {kDumpiByte, kDumpiByte})
        .reduce_scatter({1, 2}, kDumpiInt)
        .barrier(7)
        .comm_free(7);
    w.call(143).i32(1).h(9).i32(0).i32(0).i32(1).h(9).h(1);  // MPI_Put
    w.finalize();
    if (me > 0) all += '\x01';
    all += w.file();
  }
  return all;
}

// What a schedule becomes is a schedule again, with the same messages.
bool run_goal(std::string_view bytes) {
  if (!run_file(bytes)) return false;
  const MemFile file(bytes);
  auto t = open_trace({file.path()});
  if (!t || (*t)->header().recorder != "goal") return true;
  const std::string path =
      std::filesystem::temp_directory_path() / ("weft_fuzz_" + std::to_string(::getpid()) + ".goal");
  require(export_trace(**t, "goal", path).has_value(), "an accepted schedule is written");
  auto again = open_trace({path}, "goal");
  require(again.has_value(), "a written schedule opens");
  require((*again)->totals().messages == (*t)->totals().messages &&
              (*again)->totals().bytes == (*t)->totals().bytes,
          "a written schedule has the same messages");
  std::filesystem::remove(path);
  return true;
}

// Two ranks with dependencies of both kinds, and the binary of two others.
std::vector<std::string> goal_seeds() {
  std::string binary(bytes_of("\x7f\x10\0\0\0\0\0\0\x02\0\0\0\0\0"));
  const auto put = [&binary](std::uint64_t v, int width) {
    for (int i = 0; i < width; ++i) binary += static_cast<char>(v >> (8 * i));
  };
  const auto node = [&put](std::uint64_t deps, std::uint64_t kind, std::uint64_t peer, std::uint64_t later) {
    put(deps, 4), put(kind, 1), put(peer, 4), put(64, 8), put(7, 4), put(0, 2);
    put(later, 4), put(0, 4), put(0, 4), put(later, 4);
  };
  for (const std::uint64_t offset : {38, 132, 132, 183}) put(offset, 8);
  put(2, 4), put(1, 4), put(0, 4), node(0, 3, 0, 1), node(1, 1, 1, 0), put(1, 4);
  put(1, 4), put(1, 4), put(0, 4), node(0, 2, 0, 0);
  return {
      "num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 3\nl2: calc 10\nl2 irequires l1\nl3: recv 4b from 1 tag "
      "4\n"
      "l4: calc 5 cpu 1 // c\nl4 requires l3\nl4 requires l2\n}\nrank 1 {\na: recv 8b from -1 tag -1\nb: "
      "send 4b to "
      "0 tag 4 cpu 0 nic 1\nb requires a\n}\n",
      binary};
}

// Both ranks of a program with communicators, requests and vectors.
std::vector<std::string> allprof_seeds() {
  std::string both;
  for (const char* r : {"0", "1"}) {
    const std::string rank(r), w = "5641280," + rank + ",2", s = "77," + rank + ",2";
    both +=
        "== t-" + rank + ".txt\n# htor's PMPI Tracer 0.9 Output File\n# hostname: n\n\nMPI_Init:-:1:2:10\n" +
        "MPI_Comm_split:11:" + w + ":0:" + rank + ":88:12\nMPI_Irecv:13:1:4:1,4,4:-1:-1:" + s + ":640:14\n" +
        "MPI_Isend:15:1:4:1,4,4:" + (rank == "0" ? "1" : "0") + ":3:" + s + ":648:16\n" +
        "MPI_Testsome:17:2:640:1:2:0:18\nMPI_Waitall:19:2:640:0:20\n" +
        "MPI_Allgatherv:21:1:4:1,4,4:2:3:4,4:5:0,4:1,4,4:" + s + ":22\nMPI_Recv_init:23:1:4:1,4,4:-2:0:" + w +
        ":640:24\nMPI_Start:25:640:26\nMPI_Wait:27:640:0:28\nMPI_Request_free:28:640:28\n" +
        "MPI_Comm_free:28:88:29\n# Finalize clockdiff: 0.0\nMPI_Finalize:99:-\n";
  }
  return {both,
          "== t-0.txt\n# collprof 0.9\nMPI_Init:-:1:2:1.0\nMPI_Bcast:3.0:5:12:13,1,1:0:0,0,1:4.0\n"
          "MPI_Waitany:5.0:1:640:7:0:6.0\nMPI_Finalize:13.0:-\n"};
}

// Read a second time it holds what the first one counted.
bool run_dimemas(std::string_view bytes) {
  if (!run_file(bytes)) return false;
  const MemFile file(bytes);
  auto t = open_trace({file.path()});
  if (!t || (*t)->header().recorder != "dimemas") return true;
  const auto info = scan_trace(**t);
  require(info && info->totals.ops == (*t)->totals().ops && info->totals.bytes == (*t)->totals().bytes &&
              info->totals.messages == (*t)->totals().messages,
          "the second reading of a Dimemas trace holds what the first one counted");
  const std::string fault = support::first_fault(**t);
  require(fault.empty(), "an operation of a Dimemas trace obeys the rules: " + fault);
  (void)(*t)->position(RankId(0), info->totals.ops / 2);
  return true;
}

// Two tasks with a record of each kind, collectives with sizes of each rank, and numbers that cross.
std::string dimemas_seed() {
  std::string out = "#DIMEMAS:\"s.dim\":1,400:2(1,1),2,0,0\nd:1:1:2:0:1\nd:1:2:2:1:0\n";
  for (const auto& [me, other] : {std::pair('0', '1'), std::pair('1', '0')}) {
    const auto line = [&](std::string_view text) {
      for (const char c : text) out += c == 'M' ? me : c == 'O' ? other : c;
      out += '\n';
    };
    line("1:M:0:0.000250000");
    line("20:M:0:50000003:31");
    line("10:M:0:0:1:0:0:0:0:1");
    line("20:M:0:50000003:0");
    line(me == '0' ? "3:M:0:O:-1:9:4:51:1" : "3:M:0:O:-1:9:4:52:1");
    line("2:M:0:O:-1:9:4:51:2");
    line("2:M:0:O:-1:9:4:52:1");
    line(me == '0' ? "3:M:0:O:-1:9:4:52:0" : "3:M:0:O:-1:9:4:51:0");
    line("20:M:0:50000001:6");
    line(me == '0' ? "3:M:0:O:-1:9:4:51:2" : "3:M:0:O:-1:9:4:52:2");
    line("20:M:0:50000001:0");
    for (const char* op : {"1:1:0:0:8:0", "3:2:M:0:7:14", "7:1:0:0:5:12", "9:1:0:0:30:20:1", "12:1:0:0:8:4:1",
                           "27:1:0:0:8:8:0", "27:1:0:0:8:8:2"})
      line("10:M:0:" + std::string(op));
    line("0:M:0");
  }
  return out + "s:0:60\ns:1:300\n";
}

// Two tasks with calls of each kind, some of them at one instant.
std::string paraver_seed() {
  std::string out =
      "#Paraver (22/03/26 at 10:11):90_ns:2(2,1):1:2(2:1,1:2),2\nc:1:1:2:1:2\nc:1:2:2:2:1\n"
      "1:2:1:1:2:0:90:1\n2:2:1:1:2:5:60000119:3\n";
  const auto call = [&out](int task, int from, int to, const std::string& call_and_more, int type) {
    const std::string who = "2:1:1:" + std::to_string(task) + ":1:";
    const std::string what = ":5000000" + std::to_string(type) + ":";
    out += who + std::to_string(from) + what + call_and_more + "\n" + who + std::to_string(to) + what + "0\n";
  };
  for (const int me : {1, 2}) {
    call(me, 1, 2, "31", 3);
    call(me, 3, 3, "4", 1);
    call(me, 3, 4, "3:60000519:1:60000619:2", 1);
    call(me, 4, 9, "41", 1);
    call(me, 9, 9, "6", 1);
    call(me, 9, 20, "124", 3);
    call(me, 21, 30, "60", 1);
    call(me, 30, 31, "7:50100001:8:50100002:0:50100003:1:50100004:2", 2);
    call(me, 31, 32, "12:50100001:30:50100002:20:50100004:1", 2);
    call(me, 32, 33, "155:50100001:8:50100002:8:50100004:1:60000519:2", 2);
    call(me, 33, 34, "5:60000519:1:60000519:2", 1);
    call(me, 34, 35, "23:60000719:2", 3);
    call(me, 40, 41, "32", 3);
    const std::string a = std::to_string(me) + ":1", b = std::to_string(3 - me) + ":1";
    out += "3:1:1:" + a + ":3:3:2:1:" + b + ":3:9:8:4\n3:1:1:" + a + ":4:4:2:1:" + b + ":4:9:16:5\n";
    out += "3:1:1:" + a + ":9:10:2:1:" + b + ":9:30:24:4\n1:1:1:" + a + ":41:90:1\n2:1:1:" + a +
           ":50:60000019:3\n";
  }
  return out;
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
      {"dumpi",
       [] {
         return std::vector<std::string>{dumpi_seed({0, 7, 1}), dumpi_seed({0, 6, 8}), dumpi_seed({0, 5, 0})};
       },
       {std::string(4, '\xff'), std::string(4, '\0'), std::string("\0\0\0\x02", 4),
        std::string("\x7f\xff\xff\xff"), std::string("\x01\x25", 2), std::string("\0\x0d\x4f", 3),
        std::string("\0\x04", 2), std::string("\0\0\0\0\0\0\0\x08", 8)},
       600,
       run_dumpi},
      {"goal",
       goal_seeds,
       {"l1: ", "l2 requires l3\n", "l3 irequires l1\n", "recv 8b from 1 tag 3\n", "calc 0\n", " cpu 1",
        " tag -1", "}\nrank 1 {\n", "/*", "*/", "//", std::string(4, '\0'), std::string(4, '\xff')},
       1000,
       run_goal},
      {"dimemas",
       [] { return std::vector<std::string>{dimemas_seed()}; },
       {"2:0:0:1:-1:9:4:53:1\n", "3:1:0:0:-1:9:4:53:0\n", "10:0:0:9:1:0:0:30:20:1\n",
        "10:1:0:27:1:0:0:8:8:0\n", "20:0:0:50000002:7\n", "20:0:0:50000001:0\n", "d:1:3:1:0\n", "s:0:1\n",
        "1:0:0:1e-9\n", ":", "-1", "4611686018427387904", "2147483647", "\r", "\xef\xbb\xbf"},
       1000,
       run_dimemas},
      {"paraver",
       [] { return std::vector<std::string>{paraver_seed()}; },
       {"2:1:1:1:1:3:50000001:3\n", "2:1:1:1:1:4:50000001:0\n",
        "2:1:1:2:1:9:50000002:7:50100003:1:50100004:1\n", "3:1:1:1:1:3:3:2:1:2:1:3:9:8:4\n",
        "3:1:1:2:1:9:9:2:1:1:1:9:9:8:4\n", "c:1:3:1:1\n", "#", ":", "-1", ":0\n", "4611686018427387904",
        "2147483647", "\r", "\xef\xbb\xbf"},
       1000,
       run_file},
      {"ti",
       [] {
         return std::vector<std::string>{ti_seed(), compressed(ti_seed())};
       },
       {"0 send 1 5 8 0\n", "1 waitall\n", "0 wait 0 1 5\n", "1 comm_split\n", "0 test 0 1 5\n",
        "0 irecv 1 -444 8\n", "0 barrier\n", "\r", "\xef\xbb\xbf", "0 alltoallv 3 1 2 3 1 2\n", "15 init\n"},
       600,
       run_file},
      {"liballprof",
       allprof_seeds,
       {"MPI_", "MPI_Wait:30:640:0:31\n", "MPI_Test:30:640:7:0:31\n", "MPI_Waitany:30:2:640:7:0:31\n",
        ":-:", ",0,2", "MPI_Comm_dup:30:5641280,0,2:88:31\n", "MPI_Comm_free:30:88:31\n",
        "MPI_Cart_sub:30:5641280,1,2:7:88:31\n", "MPI_Start:30:640:31\n", "MPI_Barrier:30:5641281,0,2:31\n",
        "18446744073709551615", "# ", "== r-1\n"},
       600,
       run_files},
      {"ti_files",
       [] {
         return std::vector<std::string>{
             "== ./rank-0.txt\n0 init\n0 send 1 5 8 0\n0 finalize\n== ./rank-1.txt\n1 init\n1 recv 0 5 8 "
             "0\n1 finalize\n",
             "== t/a\n0 init\n0 compute 1e6\n0 finalize\n== trace.index\n# ranks\nt/a\nb\n== b\n1 init\n1 "
             "compute 1e5\n1 finalize\n== readme\nhello\n",
             "== one\n" + ti_seed()};
       },
       {"== r-1\n", "== ../x\n", "== ./\n", "\n", "rank-0.txt", "\xef\xbb\xbf", "# ", "t/a\n",
        "rank-999999999", "== "},
       400,
       run_files}};
}

}  // namespace weft::fuzz
