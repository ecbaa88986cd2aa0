// Spools as the recorder would write them, without any MPI.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "traces/op.hpp"
#include "traces/recorder/spool.hpp"

namespace weft::recorder::testing {

// Writes the bytes of a spool as the recorder would.
class FakeSpool {
 public:
  explicit FakeSpool(int rank = 0, int size = 1) : rank_(rank), bytes_(kSpoolHeaderBytes, '\0') {
    SpoolHeader& h = header();
    h.magic = kSpoolMagic;
    h.version = kSpoolVersion;
    h.header_bytes = kSpoolHeaderBytes;
    h.job = 7;
    h.world_rank = rank;
    h.world_size = size;
  }
  SpoolHeader& header() { return *reinterpret_cast<SpoolHeader*>(bytes_.data()); }
  void add(traces::OpKind kind, SpoolRecord r, const std::vector<std::int64_t>& list = {}) {
    r.kind = static_cast<std::uint8_t>(static_cast<int>(kind) + 1);
    add_raw(r, list);
  }
  void add_raw(SpoolRecord r, const std::vector<std::int64_t>& list) {
    r.list_words = static_cast<std::uint32_t>(list.size());
    bytes_.append(reinterpret_cast<const char*>(&r), sizeof r);
    bytes_.append(reinterpret_cast<const char*>(list.data()), 8 * list.size());
  }
  std::string& bytes() { return bytes_; }
  // Communicator `id` of the rank.
  void define(std::uint32_t id, const std::vector<std::int64_t>& members) {
    SpoolRecord r{};
    r.kind = kCommDefine;
    r.comm = id;
    r.amount = static_cast<std::int64_t>(members.size());
    std::vector<std::int64_t> list{id + 100, 5, id};
    list.insert(list.end(), members.begin(), members.end());
    add_raw(r, list);
  }
  // The path of the file, in a folder of the test.
  [[nodiscard]] std::string save() const {
    std::filesystem::create_directories(folder());
    const std::string path = folder() + fmt::format("/{:016x}.{}.spool", 7, rank_);
    std::ofstream(path, std::ios::binary) << bytes_;
    return path;
  }
  static std::string folder() {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    return (std::filesystem::temp_directory_path() /
            fmt::format("weft_spool_{}_{}", info->name(), ::getpid()))
        .string();
  }

 private:
  int rank_;
  std::string bytes_;
};

inline SpoolRecord message(std::int32_t peer, std::int32_t tag, std::int64_t bytes, std::int64_t gap_ns = 0,
                           std::uint32_t comm = 0) {
  SpoolRecord r{};
  r.gap_ns = gap_ns;
  r.comm = comm;
  r.request = kNoSlot;
  r.peer = peer;
  r.tag = tag;
  r.amount = bytes;
  r.source = kNoMatch;
  return r;
}

inline SpoolRecord of_slot(SpoolRecord r, std::uint32_t slot) {
  r.request = slot;
  return r;
}

inline SpoolRecord hit(std::int32_t peer, std::int32_t tag, std::uint32_t comm = 0) {
  SpoolRecord r = message(peer, tag, 1, 0, comm);
  r.flags = traces::kHit;
  r.source = peer;
  r.matched_tag = tag;
  r.matched_bytes = 8;
  return r;
}

}  // namespace weft::recorder::testing
