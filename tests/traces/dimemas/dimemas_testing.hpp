// Dimemas traces of a few lines, and what they become.
#pragma once

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/traces/trace_testing.hpp"

namespace weft::traces::dimemas_test {

using testing::PlainOp;
using testing::read_rank;
using testing::TempDir;

// Tasks of one thread each, and the world as communicator 1.
inline std::string head(int tasks, int communicators = 1) {
  std::string threads, members;
  for (int t = 0; t < tasks; ++t) {
    threads += t == 0 ? "1" : ",1";
    members += fmt::format(":{}", t);
  }
  return fmt::format("#DIMEMAS:\"t.dim\":0:{}({}),{},0,0  \nd:1:1:{}{}\n", tasks, threads, communicators,
                     tasks, members);
}

inline std::unique_ptr<TraceReader> opened(const TempDir& dir, const std::string& text) {
  auto t = open_trace({dir.write("t.dim", text)});
  EXPECT_TRUE(t) << t.error().message();
  return t ? std::move(*t) : nullptr;
}

// "irecv 1/7 8b #0": kind, peer/tag, bytes, request; of a collective its root, communicator and list.
inline std::string told(const PlainOp& p) {
  std::string s(op_name(p.op.kind));
  if (p.op.kind == OpKind::compute_time) s += fmt::format(" {}ps", p.op.amount);
  if (is_send(p.op.kind) || is_receive(p.op.kind))
    s += fmt::format(" {}/{} {}b", p.op.peer, p.op.tag, p.op.amount);
  if (is_collective(p.op.kind)) s += fmt::format(" {}b", p.op.amount);
  if (is_rooted(p.op.kind)) s += fmt::format(" root {}", p.op.peer);
  if (p.op.comm != CommId(0)) s += fmt::format(" comm {}", p.op.comm.index());
  if (p.op.request != kNoRequest) s += fmt::format(" #{}", p.op.request);
  if (p.has_list) s += fmt::format(" [{}]", fmt::join(p.list, " "));
  return s;
}
inline std::vector<std::string> program(TraceReader& t, std::uint32_t rank) {
  std::vector<std::string> out;
  t.rewind();
  const auto ops = read_rank(t, rank);
  if (!ops) return {ops.error().message()};
  for (const PlainOp& p : *ops) out.push_back(told(p));
  EXPECT_EQ(t.ops_of(RankId(rank)), out.size());
  return out;
}
inline std::vector<std::string> program(const TempDir& dir, const std::string& text, std::uint32_t rank = 0) {
  const auto t = opened(dir, text);
  return t == nullptr ? std::vector<std::string>() : program(*t, rank);
}

// The message of what cannot be opened, without the folder.
inline std::string error_of(const TempDir& dir, const std::string& text) {
  const std::string path = dir.write("t.dim", text);
  const auto t = open_trace({path}, "dimemas");
  if (t) return "none";
  const std::string message = t.error().message();
  return message.starts_with(path) ? "t.dim" + message.substr(path.size()) : message;
}

}  // namespace weft::traces::dimemas_test
