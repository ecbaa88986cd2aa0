// Spools of the recorder, as weft record --merge reads them: of one or several ranks and jobs, whole or cut.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/replay_some.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/support/files.hpp"
#include "traces/check/check.hpp"
#include "traces/info.hpp"
#include "traces/op.hpp"
#include "traces/recorder/merge/merge.hpp"
#include "traces/recorder/spool.hpp"

namespace weft::fuzz {
namespace {

namespace fs = std::filesystem;
using namespace recorder;
using traces::OpKind;

// The bytes of the target. A whole header is 8 KiB of which hardly any matter, so a spool is written shorter here:
//   magic and numbers (the header's first kNumbers bytes), how many patches, the patches (two bytes: where in the
//   header; eight bytes: what), the records.
// A spool begins wherever a magic stands; what stands before the first is the file that tells of programs that ran
// without the recorder. A spool shorter than kNumbers is a file as it is.
constexpr std::size_t kNumbers = offsetof(SpoolHeader, not_recorded);
constexpr std::size_t kPatchBytes = 10;
// More files than this only cost time; a spool may still claim to be of more ranks.
constexpr std::size_t kMaxSpools = 16;

std::string_view magic_bytes() { return {reinterpret_cast<const char*>(&kSpoolMagic), sizeof kSpoolMagic}; }

std::string unpacked(std::string_view packed) {
  if (packed.size() <= kNumbers) return std::string(packed);
  std::string file(packed.substr(0, kNumbers));
  file.resize(kSpoolHeaderBytes, '\0');
  std::size_t patches = static_cast<unsigned char>(packed[kNumbers]);
  packed.remove_prefix(kNumbers + 1);
  for (; patches > 0 && packed.size() >= kPatchBytes; --patches, packed.remove_prefix(kPatchBytes)) {
    std::uint16_t at = 0;
    std::memcpy(&at, packed.data(), sizeof at);
    file.replace(at % (kSpoolHeaderBytes - 8), 8, packed.substr(2, 8));
  }
  return file.append(packed);
}

// Named as the recorder does, after the header.
std::string file_name(const std::string& spool) {
  SpoolHeader h{};
  std::memcpy(&h, spool.data(), std::min(spool.size(), kNumbers));
  char name[64];
  std::snprintf(name, sizeof name, "%016llx.%d.spool", static_cast<unsigned long long>(h.job), h.world_rank);
  return name;
}

void write(const fs::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  require(static_cast<bool>(out), "write a spool");
}

// The merge says what it wrote; reading that must give the same.
void use(const RecordedTrace& made) {
  auto t = traces::open_trace({made.path}, "weft");
  require(t.has_value(), "a merged trace opens");
  const auto info = traces::scan_trace(**t);
  require(info.has_value(), "a merged trace is read to its end");
  require((*t)->header().ranks == made.ranks && info->totals.ops == made.totals.ops &&
              info->totals.messages == made.totals.messages && info->totals.bytes == made.totals.bytes,
          "a merged trace holds what the merge counted");
  (void)traces::check_trace(**t);
  replay_some(**t);
}

bool run_spools(std::string_view bytes) {
  const support::TempDir folder;
  const std::size_t first = std::min(bytes.find(magic_bytes()), bytes.size());
  const std::string before(bytes.substr(0, first));
  if (!before.empty()) write(folder.path(kLostFile), before);
  bytes.remove_prefix(first);
  for (std::size_t n = 0; n < kMaxSpools && !bytes.empty(); ++n) {
    const std::size_t size = std::min(bytes.find(magic_bytes(), sizeof kSpoolMagic), bytes.size());
    const std::string spool = unpacked(bytes.substr(0, size));
    write(folder.path(file_name(spool)), spool);
    bytes.remove_prefix(size);
  }
  bool accepted = false;
  for (const bool salvage : {false, true}) {
    RunInfo info;
    info.recorder = "fuzz";
    info.command_line = info.hpl_dat = before;  // files of the folder, too, and of no form
    info.salvage = salvage;
    const std::string output = folder.path("t.weft");
    const auto made = merge_spools(folder.path(), output, info);
    if (!made) continue;
    accepted |= !made->empty();
    for (const RecordedTrace& t : *made) use(t);
    break;  // nothing is damaged: there is nothing to salvage
  }
  return accepted;
}

// ---- seeds

class Spool {
 public:
  Spool(std::int32_t rank, std::int32_t size, std::uint64_t job = 7) {
    header_.magic = kSpoolMagic;
    header_.version = kSpoolVersion;
    header_.header_bytes = kSpoolHeaderBytes;
    header_.job = job;
    header_.world_rank = rank;
    header_.world_size = size;
    header_.cpu_ns = 5000, header_.wall_ns = 6000;
  }
  SpoolHeader& header() { return header_; }
  void patch(std::size_t at, std::string eight) {
    eight.resize(8, '\0');
    const auto where = static_cast<std::uint16_t>(at);
    patches_.append(reinterpret_cast<const char*>(&where), sizeof where).append(eight);
  }
  void add(SpoolRecord r, std::vector<std::int64_t> list = {}) {
    r.list_words = static_cast<std::uint32_t>(list.size());
    records_.append(reinterpret_cast<const char*>(&r), sizeof r);
    records_.append(reinterpret_cast<const char*>(list.data()), 8 * list.size());
  }
  void padding(std::size_t words) {
    const std::uint64_t first = std::uint64_t{words} << 32 | kPadding;
    records_.append(reinterpret_cast<const char*>(&first), 8).append(8 * words, '\0');
  }
  [[nodiscard]] std::string packed() const {
    std::string out(reinterpret_cast<const char*>(&header_), kNumbers);
    out += static_cast<char>(patches_.size() / kPatchBytes);
    return out + patches_ + records_;
  }

 private:
  SpoolHeader header_{};
  std::string patches_, records_;
};

SpoolRecord record(OpKind kind, std::int32_t peer = traces::kAnySource, std::int32_t tag = traces::kAnyTag,
                   std::int64_t amount = 0, std::uint32_t request = kNoSlot, std::uint32_t comm = 0) {
  SpoolRecord r{};
  r.kind = static_cast<std::uint8_t>(static_cast<int>(kind) + 1);
  r.gap_ns = 900;
  r.comm = comm;
  r.request = request;
  r.peer = peer;
  r.tag = tag;
  r.amount = amount;
  r.source = kNoMatch;
  return r;
}
SpoolRecord matched(SpoolRecord r, std::uint8_t flags, std::int32_t source, std::int32_t tag,
                    std::int64_t bytes) {
  r.flags = flags, r.source = source, r.matched_tag = tag, r.matched_bytes = bytes;
  return r;
}
SpoolRecord other(std::uint8_t kind, std::uint32_t comm = 0, std::int64_t amount = 0) {
  SpoolRecord r{};
  r.kind = kind, r.comm = comm, r.amount = amount;
  return r;
}

// One rank of two: a communicator, messages with and without requests, polls, a cancelled receive, collectives.
std::string rank_of_two(std::int32_t rank, std::uint64_t job) {
  const std::int32_t peer = 1 - rank;
  Spool s(rank, 2, job);
  s.header().finalized = 1;
  s.header().start_time_ns = static_cast<std::int64_t>(job);
  s.patch(offsetof(SpoolHeader, hostname), "node");
  s.patch(offsetof(SpoolHeader, program), "./a");
  s.patch(offsetof(SpoolHeader, not_recorded) + 8 * (rank == 0 ? kCountedFunctions : 0), "\x01");
  s.add(record(OpKind::init));
  s.add(other(kCommDefine, 1, 2), {5, 6, 0, 0, 1});
  s.add(record(OpKind::comm_dup, traces::kAnySource, traces::kAnyTag, 1));
  s.add(record(OpKind::irecv, traces::kAnySource, 3, 64, 0, 1));
  s.add(record(OpKind::isend, peer, 3, 64, 1, 1));
  s.add(record(OpKind::waitall), {2, 0, 1, 2, 0, peer, 3, 64, 1, kNoMatch, 0, 0});
  s.add(record(OpKind::alltoallv, traces::kAnySource, traces::kAnyTag, 24), {2, 8, 16, 8, 16});
  s.add(record(OpKind::sendrecv, peer, 4, 8));
  s.add(matched(record(OpKind::recv, peer, 4, 8), traces::kPairedRecv, kNoMatch, 0, 0));
  s.padding(2);
  s.add(record(OpKind::irecv, peer, 9, 8, 2));
  s.add(record(OpKind::cancel, traces::kAnySource, traces::kAnyTag, 0, 2));
  s.add(record(OpKind::wait), {1, 2, 1, 2, kCancelled, 0, 0});
  s.add(record(OpKind::isend, peer, 5, 8, 3));
  s.add(record(OpKind::iprobe, peer, 5));
  s.add(matched(record(OpKind::iprobe, peer, 5), traces::kHit, peer, 5, 8));
  s.add(record(OpKind::recv, peer, 5, 8));
  s.add(record(OpKind::wait), {1, 3, 1, 3, kNoMatch, 0, 0});
  s.add(record(OpKind::send_init, peer, 6, 8, 4));
  s.add(record(OpKind::irecv, peer, 6, 8, 5));
  s.add(record(OpKind::start, traces::kAnySource, traces::kAnyTag, 0, 4));
  s.add(record(OpKind::waitsome), {2, 4, 5, 2, 4, kNoMatch, 0, 0, 5, peer, 6, 8});
  s.add(record(OpKind::request_free, traces::kAnySource, traces::kAnyTag, 0, 4));
  s.add(record(OpKind::allreduce, traces::kAnySource, traces::kAnyTag, 16, kNoSlot, 1));
  s.add(record(OpKind::finalize));
  return s.packed();
}

// Two threads inside of MPI at once, and a process that died in a call.
std::string threads() {
  Spool s(0, 2);
  s.header().threads = 2, s.header().concurrent = 3, s.header().thread_level = 3;
  SpoolRecord in_one = record(OpKind::ssend, 1, 8, 8);
  in_one.thread = 1;
  SpoolRecord left = other(kLeft);
  s.add(record(OpKind::irecv, 1, 7, 8, 4));
  s.add(record(OpKind::wait), {1, 4, 1, 4, 1, 7, 8});
  s.add(in_one);
  s.add(left);
  left.thread = 1;
  s.add(left);
  SpoolRecord inside = record(OpKind::barrier);
  inside.flags = kOpen;
  s.add(inside);
  return "env started ./b with LD_PRELOAD=" + s.packed();
}

// The ints of MPI that mean "any", "none" and "cancelled", and the first words of records.
std::string word(std::int64_t n) { return {reinterpret_cast<const char*>(&n), sizeof n}; }
std::string record_bytes(const SpoolRecord& r) { return {reinterpret_cast<const char*>(&r), sizeof r}; }

}  // namespace

std::vector<Target> recorder_targets() {
  return {{"spool",
           [] {
             return std::vector<std::string>{
                 rank_of_two(0, 7) + rank_of_two(1, 7),
                 rank_of_two(0, 7) + rank_of_two(1, 7) + rank_of_two(1, 8) + rank_of_two(0, 8), threads()};
           },
           {word(0), word(1), word(-1), word(2), word(kCancelled), word(kNoMatch), word(INT64_MAX),
            word(std::int64_t{1} << 32), std::string(magic_bytes()),
            std::string(1, '\xfc') + std::string(55, '\0'), record_bytes(record(OpKind::barrier)),
            record_bytes(record(OpKind::send, 0, 1, 8)), record_bytes(record(OpKind::irecv, -1, -1, 8, 0))},
           400,
           run_spools}};
}

}  // namespace weft::fuzz
