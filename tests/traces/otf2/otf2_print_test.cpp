// OTF2 against otf2-print, which is the format's own decoder: every call of every recorded archive at hand, in order, with
// its peer, tag, bytes, communicator and the time before it.
#include <gmock/gmock.h>

#include <cstdio>

#include "tests/support/needs.hpp"
#include "tests/traces/otf2/otf2_testing.hpp"
#include "traces/check/check.hpp"

namespace weft::traces {
namespace {

using namespace testing;

std::string run(const std::string& command) {
  std::FILE* f = ::popen(command.c_str(), "r");
  std::string out;
  char buffer[1u << 16];
  while (f != nullptr) {
    const std::size_t n = std::fread(buffer, 1, sizeof buffer, f);
    if (n == 0) break;
    out.append(buffer, n);
  }
  EXPECT_TRUE(f != nullptr && ::pclose(f) == 0) << command;
  return out;
}

// The number after `key` in a line; `key` "Communicator: " skips a quoted name: the number in <>.
std::int64_t number(const std::string& line, const std::string& key, bool reference = false) {
  std::size_t at = line.find(key);
  if (at == std::string::npos) return -1;
  at += key.size();
  if (reference) at = line.find('<', at) + 1;
  return std::strtoll(line.c_str() + at, nullptr, 10);
}
std::string quoted(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(key) + key.size() + 1;
  return line.substr(at, line.rfind('"') - at);
}

// What the text says, one line for each call of each location.
struct Printed {
  std::map<std::int64_t, std::vector<std::string>> calls;
  std::map<std::int64_t, std::int64_t> compute_ticks;
  std::int64_t ticks_per_second = 0;
  std::uint64_t messages = 0, bytes = 0;
};

std::string lower(std::string s) {
  for (char& c : s) c = static_cast<char>(std::tolower(c));
  return s;
}

Printed printed(const std::string& anchor) {
  Printed p;
  std::map<std::int64_t, std::int64_t> group_size, comm_size;
  std::map<std::int64_t, bool> self;
  std::istringstream definitions(run("otf2-print -G '" + anchor + "'"));
  for (std::string line; std::getline(definitions, line);) {
    const std::int64_t id = line.size() > 40 ? std::strtoll(line.c_str() + 20, nullptr, 10) : 0;
    if (line.starts_with("CLOCK_PROPERTIES ")) p.ticks_per_second = number(line, "Ticks per Seconds: ");
    if (line.starts_with("GROUP ")) {
      self[id] = line.find("Type: COMM_SELF") != std::string::npos;
      group_size[id] =
          self[id] ? 1
                   : number(line, line.find("Flags: NONE, ") != std::string::npos ? "Flags: NONE, " : "?");
    }
    if (line.starts_with("COMM ")) comm_size[id] = group_size[number(line, "Group: ", true)];
  }
  struct Location {
    std::vector<std::string> open;
    std::map<std::int64_t, std::size_t> posted;  // request -> its line
    std::int64_t last = -1, done = 0;
  };
  std::map<std::int64_t, Location> at;
  const auto local = [](const std::string& r) {
    return r == "MPI_Comm_rank" || r == "MPI_Comm_size" || r == "MPI_Initialized";
  };
  std::istringstream events(run("otf2-print '" + anchor + "'"));
  for (std::string line; std::getline(events, line);) {
    std::istringstream words(line);
    std::string what;
    std::int64_t where = 0, time = 0;
    if (!(words >> what >> where >> time)) continue;
    Location& l = at[where];
    auto& calls = p.calls[where];
    const auto message = [&](const char* kind, const char* peer) {
      return std::string(kind) + " " + std::to_string(number(line, peer, true)) + " tag " +
             std::to_string(number(line, "Tag: ")) + " bytes " + std::to_string(number(line, "Length: ")) +
             " of " + std::to_string(comm_size[number(line, "Communicator: ", true)]);
    };
    const auto sent = [&] {
      ++p.messages;
      p.bytes += static_cast<std::uint64_t>(number(line, "Length: "));
    };
    if (what == "ENTER") {
      const std::string region = quoted(line, "Region: ");
      if (l.last < 0) l.last = time;
      const bool call = region.starts_with("MPI_") && !local(region);
      if (call || !region.starts_with("MPI_")) p.compute_ticks[where] += time - l.last, l.last = time;
      if (!region.starts_with("MPI_")) calls.push_back("begin " + region);
      if (region == "MPI_Init") calls.push_back("init");
      if (region == "MPI_Finalize") calls.push_back("finalize");
      l.open.push_back(region);
      l.done = 0;
    } else if (what == "LEAVE") {
      const std::string region = l.open.back();
      l.open.pop_back();
      if (region.starts_with("MPI_") && !local(region)) l.last = time;
      if (!region.starts_with("MPI_")) {
        p.compute_ticks[where] += time - l.last, l.last = time;
        calls.push_back("end " + region);
      }
      if (l.done > 0) calls.push_back(lower(region.substr(4)) + " " + std::to_string(l.done));
      l.done = 0;
    } else if (what == "MPI_SEND") {
      calls.push_back(message("send", "Receiver: ")), sent();
    } else if (what == "MPI_ISEND") {
      calls.push_back(message("isend", "Receiver: ")), sent();
    } else if (what == "MPI_RECV") {
      calls.push_back(message("recv", "Sender: "));
    } else if (what == "MPI_IRECV_REQUEST") {
      l.posted[number(line, "Request: ")] = calls.size();
      calls.push_back("");
    } else if (what == "MPI_IRECV") {
      calls[l.posted.at(number(line, "Request: "))] = message("irecv", "Sender: ");
      ++l.done;
    } else if (what == "MPI_ISEND_COMPLETE") {
      ++l.done;
    } else if (what == "MPI_COLLECTIVE_END") {
      const std::int64_t root =
          line.find("Root: NONE") != std::string::npos ? -1 : number(line, "Root: ", true);
      const std::size_t op = line.find("Operation: ") + 11;
      calls.push_back(lower(line.substr(op, line.find(',') - op)) + " root " + std::to_string(root) +
                      " sent " + std::to_string(number(line, "Sent: ")) + " received " +
                      std::to_string(number(line, "Received: ")) + " of " +
                      std::to_string(comm_size[number(line, "Communicator: ", true)]));
    }
  }
  return p;
}

// The same of a trace. Sizes of collectives: back to sums, as Score-P makes them.
std::string call_of(const TraceReader& t, std::uint32_t rank, const PlainOp& p) {
  const Op& op = p.op;
  const auto& comm = t.communicators()[op.comm.index()];
  const auto n = static_cast<std::int64_t>(comm.members.size());
  const std::string of = " of " + std::to_string(n);
  const auto text = [](std::int64_t v) { return std::to_string(v); };
  const std::string name(op_name(op.kind));
  switch (op.kind) {
    case OpKind::init:
    case OpKind::finalize:
      return name;
    case OpKind::region_begin:
      return "begin " + t.regions()[static_cast<std::size_t>(op.amount)];
    case OpKind::region_end:
      return "end " + t.regions()[static_cast<std::size_t>(op.amount)];
    case OpKind::send:
    case OpKind::isend:
    case OpKind::recv:
    case OpKind::irecv:
      return name + " " + text(op.peer) + " tag " + text(op.tag) + " bytes " + text(op.amount) + of;
    case OpKind::wait:
      return "wait 1";
    case OpKind::waitall:
      return "waitall " + text(static_cast<std::int64_t>(p.list.size()));
    default:
      break;
  }
  const bool root = op.peer == static_cast<std::int32_t>(rank);
  std::int64_t sent = op.amount, received = op.amount;
  if (op.kind == OpKind::bcast) sent = root ? n * op.amount : 0;
  if (op.kind == OpKind::scatter) sent = root ? n * op.amount : 0;
  if (op.kind == OpKind::gather || op.kind == OpKind::reduce) received = root ? n * op.amount : 0;
  if (!is_rooted(op.kind)) sent = received = n * op.amount;
  return name + " root " + text(is_rooted(op.kind) ? op.peer : -1) + " sent " + text(sent) + " received " +
         text(received) + of;
}

TEST(Otf2Print, EveryCallOfTheRecordedArchivesIsThatOfOtf2Print) {
  const std::string traces = support::shared_dir() + "/traces";
  WEFT_NEEDS(fs::exists(traces + "/otf2_sstmacro"), "no ../shared/traces");
  WEFT_NEEDS(have_otf2_print(), "no otf2-print (package otf2-tools): OTF2 IS NOT COMPARED WITH IT");
  struct Archive {
    const char* path;
    std::uint64_t messages, errors;
  };
  // The sst-macro archive has 1,080 calls that Score-P 2 had no records for; the doctor names them.
  for (const Archive& a :
       {Archive{"otf2_pipit/ping-pong-otf2", 16, 0}, Archive{"otf2_pipit/ping-pong-otf2-papi", 16, 0},
        Archive{"otf2_sstmacro", 1440, 1}}) {
    SCOPED_TRACE(a.path);
    const Printed want = printed(traces + "/" + a.path + "/traces.otf2");
    const auto t = opened(traces + "/" + a.path);
    ASSERT_TRUE(t);
    EXPECT_EQ(t->totals().messages, a.messages);
    EXPECT_EQ(t->totals().messages, want.messages);
    EXPECT_EQ(t->totals().bytes, want.bytes);
    ASSERT_EQ(want.calls.size(), t->header().ranks);
    std::uint64_t all = 0;
    for (std::uint32_t r = 0; r < t->header().ranks; ++r) {
      SCOPED_TRACE(r);
      std::vector<std::string> calls;
      std::int64_t ps = 0;
      for (const PlainOp& p : ops_of_rank(*t, r)) {
        ++all;
        if (p.op.kind == OpKind::compute_time)
          ps += p.op.amount;
        else
          calls.push_back(call_of(*t, r, p));
      }
      EXPECT_EQ(calls, want.calls.at(r));
      // Each stretch is rounded down to a picosecond; less than 0.2 us at the end has no operation.
      const double exact =
          static_cast<double>(want.compute_ticks.at(r)) * 1e12 / static_cast<double>(want.ticks_per_second);
      EXPECT_LE(static_cast<double>(ps), exact + 1);
      EXPECT_GE(static_cast<double>(ps), exact - 200'000.0 - static_cast<double>(2 * calls.size()));
    }
    EXPECT_EQ(all, t->totals().ops);
    EXPECT_EQ(check_trace(*t)->errors, a.errors);
  }
}

}  // namespace
}  // namespace weft::traces
