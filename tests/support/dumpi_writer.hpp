// Writes DUMPI files for tests: one rank's stream of calls, byte by byte, in any version of the format.
//
// Written from the description of the format (docs/dumpi.md), not from the reader's table: each call spells its own
// arguments. Times go on by themselves: a call begins `gap_ns` after the one before and takes `call_ns`.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::testing {

// Handles that every program has.
inline constexpr int kDumpiWorld = 2, kDumpiSelf = 3, kDumpiNull = 1;
inline constexpr int kDumpiByte = 5, kDumpiInt = 9, kDumpiDouble = 14, kDumpiLongLong = 18;

struct DumpiStatus {
  std::int32_t bytes = 0, source = 0, tag = 0;
  bool cancelled = false;
};
using DumpiStatuses = std::vector<DumpiStatus>;
using DumpiInts = std::vector<std::int32_t>;

class DumpiWriter {
 public:
  using Version = std::array<std::uint8_t, 3>;

  explicit DumpiWriter(Version version = {0, 7, 1}) : version_(version) {
    out_.append("\xff\xaa\xdd\x44UMPI", 8);
    u32(100).u32(1000);  // CPU and wall seconds of the start
  }

  // --- what all records have ---
  std::uint8_t mask = 3 | 4 | 8 | 64;
  std::uint16_t thread = 0;
  std::int64_t gap_ns = 10'000, call_ns = 5'000;
  int counters = 0;  // values of performance counters of each record, with bit 7 of the mask

  // --- bytes ---
  DumpiWriter& u8(std::uint64_t v) { return big(v, 1); }
  DumpiWriter& u16(std::uint64_t v) { return big(v, 2); }
  DumpiWriter& u32(std::uint64_t v) { return big(v, 4); }
  DumpiWriter& u64(std::uint64_t v) { return big(v, 8); }
  DumpiWriter& i32(std::int64_t v) { return big(static_cast<std::uint64_t>(v), 4); }
  DumpiWriter& raw(std::string_view bytes) {
    out_.append(bytes);
    return *this;
  }
  DumpiWriter& text(std::string_view s) { return u32(s.size()).raw(s); }
  DumpiWriter& ints(const DumpiInts& all) {
    u32(all.size());
    for (const std::int32_t v : all) i32(v);
    return *this;
  }
  DumpiWriter& halves(const std::vector<int>& all) {
    u32(all.size());
    for (const int v : all) u16(static_cast<std::uint64_t>(v));
    return *this;
  }
  DumpiWriter& statuses(const DumpiStatuses& all) {
    if ((mask & 3) == 0) return *this;
    u32(all.size());
    for (const DumpiStatus& s : all) {
      i32(s.bytes).i32(s.source).u8(s.cancelled ? 1 : 0).u8(0);
      if (version_ >= Version{0, 6, 3}) i32(s.tag);
    }
    return *this;
  }
  [[nodiscard]] std::size_t size() const { return out_.size(); }
  [[nodiscard]] Version version() const { return version_; }

  // --- the head of a record ---
  DumpiWriter& call(int number) {
    at_.push_back(out_.size());
    u16(static_cast<std::uint64_t>(number)).u8(mask);
    if ((mask & 64) != 0) u16(thread);
    const std::int64_t start = now_ns_ + gap_ns, stop = start + call_ns;
    now_ns_ = stop;
    for (const int bit : {4, 8})
      if ((mask & bit) != 0)
        for (const std::int64_t t : {start, stop})
          u16(static_cast<std::uint64_t>(t / 1'000'000'000) & 0xffff)
              .u32(static_cast<std::uint64_t>(t % 1'000'000'000));
    if ((mask & 128) != 0) {
      u8(static_cast<std::uint64_t>(counters));
      for (int i = 0; i < 2 * counters; ++i) u64(static_cast<std::uint64_t>(1000 + i));
    }
    return *this;
  }
  void pause(std::int64_t ns) { now_ns_ += ns; }

  // --- calls ---
  DumpiWriter& init() {
    call(124).i32(1);
    if (version_ < Version{0, 6, 2}) i32(1);
    return text("./a.out");
  }
  DumpiWriter& finalize() { return call(125); }
  // Send 0, Bsend 3, Ssend 4, Rsend 5.
  DumpiWriter& send(int n, int type, int dest, int tag, int comm = kDumpiWorld, int number = 0) {
    return call(number)
        .i32(n)
        .u16(static_cast<std::uint64_t>(type))
        .i32(dest)
        .i32(tag)
        .u16(static_cast<std::uint64_t>(comm));
  }
  // Isend 8, Ibsend 9, Issend 10, Irsend 11, Send_init 26 ... Rsend_init 29.
  DumpiWriter& isend(int n, int type, int dest, int tag, int request, int comm = kDumpiWorld,
                     int number = 8) {
    return send(n, type, dest, tag, comm, number).i32(request);
  }
  DumpiWriter& recv(int n, int type, int source, int tag, const DumpiStatuses& s = {},
                    int comm = kDumpiWorld) {
    return send(n, type, source, tag, comm, 1).statuses(s);
  }
  // Irecv 12, Recv_init 30.
  DumpiWriter& irecv(int n, int type, int source, int tag, int request, int comm = kDumpiWorld,
                     int number = 12) {
    return send(n, type, source, tag, comm, number).i32(request);
  }
  DumpiWriter& wait(int request, const DumpiStatuses& s = {}) { return call(13).i32(request).statuses(s); }
  DumpiWriter& test(int request, bool flag, const DumpiStatuses& s = {}) {
    return call(14).i32(request).i32(flag).statuses(s);
  }
  DumpiWriter& request_free(int request) { return call(15).i32(request); }
  DumpiWriter& cancel(int request) { return call(24).i32(request); }
  DumpiWriter& waitany(const DumpiInts& requests, int index, const DumpiStatuses& s = {}) {
    return counted(16, requests).i32(index).statuses(s);
  }
  DumpiWriter& testany(const DumpiInts& requests, int index, bool flag, const DumpiStatuses& s = {}) {
    return counted(17, requests).i32(index).i32(flag).statuses(s);
  }
  DumpiWriter& waitall(const DumpiInts& requests, const DumpiStatuses& s = {}) {
    return counted(18, requests).statuses(s);
  }
  DumpiWriter& testall(const DumpiInts& requests, bool flag, const DumpiStatuses& s = {}) {
    return counted(19, requests).i32(flag).statuses(s);
  }
  // Waitsome 20, Testsome 21.
  DumpiWriter& waitsome(const DumpiInts& requests, const DumpiInts& indices, const DumpiStatuses& s = {},
                        int number = 20) {
    return counted(number, requests).i32(static_cast<std::int32_t>(indices.size())).ints(indices).statuses(s);
  }
  DumpiWriter& iprobe(int source, int tag, bool flag, const DumpiStatuses& s = {}, int comm = kDumpiWorld) {
    return call(22).i32(source).i32(tag).u16(static_cast<std::uint64_t>(comm)).i32(flag).statuses(s);
  }
  DumpiWriter& probe(int source, int tag, const DumpiStatuses& s = {}, int comm = kDumpiWorld) {
    return call(23).i32(source).i32(tag).u16(static_cast<std::uint64_t>(comm)).statuses(s);
  }
  DumpiWriter& start(int request) { return call(31).i32(request); }
  DumpiWriter& startall(const DumpiInts& requests) { return counted(32, requests); }
  DumpiWriter& sendrecv(int n, int dest, int send_tag, int m, int source, int recv_tag,
                        const DumpiStatuses& s = {}, int type = kDumpiByte, int comm = kDumpiWorld) {
    return call(33)
        .i32(n)
        .h(type)
        .i32(dest)
        .i32(send_tag)
        .i32(m)
        .h(type)
        .i32(source)
        .i32(recv_tag)
        .h(comm)
        .statuses(s);
  }
  DumpiWriter& barrier(int comm = kDumpiWorld) { return call(52).h(comm); }
  DumpiWriter& bcast(int n, int type, int root, int comm = kDumpiWorld) {
    return call(53).i32(n).h(type).i32(root).h(comm);
  }
  DumpiWriter& gather(int rank, int n, int type, int root, int comm = kDumpiWorld) {
    call(54).i32(rank).i32(n).h(type).i32(root).h(comm);
    return rank == root ? i32(n).h(type) : *this;
  }
  DumpiWriter& gatherv(int rank, int size, int n, int type, int root, const DumpiInts& counts,
                       int comm = kDumpiWorld) {
    call(55).i32(rank).i32(size).i32(n).h(type).i32(root).h(comm);
    if (rank == root) ints(counts).ints(DumpiInts(counts.size(), 0));
    return h(type);
  }
  DumpiWriter& scatter(int rank, int n, int type, int root, int comm = kDumpiWorld) {
    call(56).i32(rank).i32(n).h(type).i32(root).h(comm);
    return rank == root ? i32(n).h(type) : *this;
  }
  DumpiWriter& scatterv(int rank, int size, int n, int type, int root, const DumpiInts& counts,
                        int comm = kDumpiWorld) {
    call(57).i32(rank).i32(size).h(type).i32(n).h(type).i32(root).h(comm);
    return rank == root ? ints(counts).ints(DumpiInts(counts.size(), 0)) : *this;
  }
  DumpiWriter& allgather(int n, int type, int comm = kDumpiWorld) {
    return call(58).i32(n).h(type).i32(n).h(type).h(comm);
  }
  DumpiWriter& allgatherv(int n, const DumpiInts& counts, int type, int comm = kDumpiWorld) {
    return call(59)
        .i32(static_cast<std::int32_t>(counts.size()))
        .i32(n)
        .h(type)
        .ints(counts)
        .ints(counts)
        .h(type)
        .h(comm);
  }
  DumpiWriter& alltoall(int n, int type, int comm = kDumpiWorld) {
    return call(60).i32(n).h(type).i32(n).h(type).h(comm);
  }
  DumpiWriter& alltoallv(const DumpiInts& sent, const DumpiInts& received, int type, int comm = kDumpiWorld) {
    return call(61)
        .i32(static_cast<std::int32_t>(received.size()))
        .ints(sent)
        .ints(sent)
        .h(type)
        .ints(received)
        .ints(received)
        .h(type)
        .h(comm);
  }
  DumpiWriter& alltoallw(const DumpiInts& sent, const DumpiInts& received, const std::vector<int>& types,
                         int comm = kDumpiWorld) {
    return call(155)
        .i32(static_cast<std::int32_t>(received.size()))
        .ints(sent)
        .ints(sent)
        .halves(types)
        .ints(received)
        .ints(received)
        .halves(types)
        .h(comm);
  }
  DumpiWriter& reduce(int n, int type, int root, int comm = kDumpiWorld) {
    return call(62).i32(n).h(type).u8(3).i32(root).h(comm);
  }
  // Allreduce 65, Scan 67, Exscan 156.
  DumpiWriter& allreduce(int n, int type, int comm = kDumpiWorld, int number = 65) {
    return call(number).i32(n).h(type).u8(3).h(comm);
  }
  DumpiWriter& reduce_scatter(const DumpiInts& counts, int type, int comm = kDumpiWorld) {
    return call(66).i32(static_cast<std::int32_t>(counts.size())).ints(counts).h(type).u8(3).h(comm);
  }
  DumpiWriter& comm_size(int comm, int size) { return call(81).h(comm).i32(size); }
  DumpiWriter& comm_rank(int comm, int rank) { return call(82).h(comm).i32(rank); }
  DumpiWriter& comm_dup(int old, int made) { return call(84).h(old).h(made); }
  DumpiWriter& comm_create(int old, int group, int made) { return call(85).h(old).h(group).h(made); }
  DumpiWriter& comm_split(int old, int color, int key, int made) {
    return call(86).h(old).i32(color).i32(key).h(made);
  }
  DumpiWriter& comm_free(int comm) { return call(87).h(comm); }
  DumpiWriter& comm_group(int comm, int group) { return call(72).h(comm).h(group); }
  // Group_union 73, Group_intersection 74, Group_difference 75.
  DumpiWriter& group_of_two(int number, int a, int b, int made) { return call(number).h(a).h(b).h(made); }
  // Group_incl 76, Group_excl 77.
  DumpiWriter& group_of_ranks(int number, int group, const DumpiInts& ranks, int made) {
    return call(number).h(group).i32(static_cast<std::int32_t>(ranks.size())).ints(ranks).h(made);
  }
  // Group_range_incl 78, Group_range_excl 79.
  DumpiWriter& group_of_ranges(int number, int group, const std::vector<DumpiInts>& ranges, int made) {
    call(number).h(group).i32(static_cast<std::int32_t>(ranges.size())).u32(ranges.size());
    for (const DumpiInts& r : ranges) ints(r);
    return h(made);
  }
  DumpiWriter& cart_create(int old, const DumpiInts& dims, bool reorder, int made) {
    return call(99)
        .h(old)
        .i32(static_cast<std::int32_t>(dims.size()))
        .ints(dims)
        .ints(DumpiInts(dims.size(), 0))
        .i32(reorder)
        .h(made);
  }
  DumpiWriter& cart_sub(int old, const DumpiInts& remain, int made) {
    return call(111).i32(static_cast<std::int32_t>(remain.size())).h(old).ints(remain).h(made);
  }
  DumpiWriter& graph_create(int old, int nodes, int made) {
    return call(101).i32(0).h(old).i32(nodes).ints({}).ints({}).i32(0).h(made);
  }
  DumpiWriter& type_contiguous(int n, int old, int made) { return call(35).i32(n).h(old).h(made); }
  DumpiWriter& h(int v) { return u16(static_cast<std::uint64_t>(v)); }

  // --- the parts after the stream ---
  struct Parts {
    std::size_t end = 0;  // of the stream: the header
    std::size_t footer = 0, sizes = 0, index = 0;
  };
  std::string host = "node";
  bool with_footer = true, with_sizes = true, with_mesh = false;
  int index_words = 0;  // 0: as the version has them
  std::vector<std::string> counter_names;
  std::vector<std::uint32_t> called = std::vector<std::uint32_t>(291, 0);
  // By handle; what follows user types are those of the test.
  std::vector<std::uint32_t> type_sizes = {0, 0,  1, 1, 1, 1, 4, 2, 2, 4,  4,  8, 8, 4,
                                           8, 16, 8, 8, 0, 1, 0, 0, 8, 12, 12, 6, 8, 20};

  [[nodiscard]] std::string file() const { return file_and_parts().first; }
  [[nodiscard]] std::pair<std::string, Parts> file_and_parts() const {
    DumpiWriter f = *this;
    Parts p;
    f.u16(293);
    p.end = f.size();
    f.u8(version_[0]).u8(version_[1]).u8(version_[2]).u64(1'300'000'000);
    f.u16(host.size()).raw(host).u16(4).raw("user");
    if (with_mesh) {
      f.ints({1, 2, 3}).ints({4, 4, 4});
    } else {
      f.ints({}).ints({});
    }
    std::uint64_t counters_at = 0;
    if (with_footer) {
      p.footer = f.size();
      f.u64(0xf007fee7);
      for (const std::uint32_t n : called) f.u32(n);
      for (int i = 0; i < 291; ++i) f.u32(0);
    }
    const std::size_t keyvals = f.size();
    f.u32(0);
    if (!counter_names.empty()) {
      counters_at = f.size();
      f.u32(counter_names.size());
      for (const std::string& n : counter_names) f.u16(n.size()).raw(n);
    }
    const int words = index_words != 0 ? index_words : version_ >= Version{0, 6, 6} ? 8 : 7;
    if (words == 8 && with_sizes) {
      p.sizes = f.size();
      f.u32(type_sizes.size());
      for (const std::uint32_t n : type_sizes) f.u32(n);
    }
    p.index = f.size();
    f.raw({"\xff\xaa\xdd\x44UMPI", 8});
    if (words >= 8) f.u64(p.sizes);
    if (words >= 7) f.u64(0);  // addresses
    if (words >= 6) f.u64(counters_at);
    f.u64(p.end).u64(8).u64(p.footer).u64(keyvals);
    return {f.out_, p};
  }
  // Offsets of the records so far.
  [[nodiscard]] const std::vector<std::size_t>& records() const { return at_; }

 private:
  DumpiWriter& big(std::uint64_t v, int bytes) {
    for (int i = bytes - 1; i >= 0; --i) out_.push_back(static_cast<char>(v >> (8 * i) & 0xff));
    return *this;
  }
  DumpiWriter& counted(int number, const DumpiInts& requests) {
    return call(number).i32(static_cast<std::int32_t>(requests.size())).ints(requests);
  }

  Version version_;
  std::string out_;
  std::vector<std::size_t> at_;
  std::int64_t now_ns_ = 0;
};

// Writes a trace: DIR/run.meta, DIR/run-0000.bin and so on. Returns the directory.
inline std::string write_dumpi(const std::string& dir, const std::vector<DumpiWriter>& ranks) {
  std::filesystem::create_directories(dir);
  std::ofstream(dir + "/run.meta") << "hostname=node\nnumprocs=" << ranks.size()
                                   << "\nusername=user\nstartime=1300000000\nfileprefix=run\nversion=0\n";
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    char name[32];
    std::snprintf(name, sizeof name, "/run-%04zu.bin", r);
    std::ofstream(dir + name, std::ios::binary) << ranks[r].file();
  }
  return dir;
}

}  // namespace weft::testing
