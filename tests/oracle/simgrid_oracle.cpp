#include "tests/oracle/simgrid_oracle.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <sstream>

#include "core/files/input_file.hpp"
#include "core/rng.hpp"

namespace weft::testing {
namespace {

constexpr std::array<const char*, 5> kPlatforms = {"crossbar", "fattree", "fattree_taper", "dragonfly",
                                                   "torus"};
constexpr std::array<const char*, 3> kModels = {"eager", "detach", "rdv"};
constexpr std::array<const char*, 2> kPlacements = {"linear", "perm"};
constexpr const char* kNoSync = "_nosync";

replay::RawMode raw_mode(const std::string& model) {
  if (model == "eager") return replay::RawMode::kEager;
  if (model == "detach") return replay::RawMode::kDetached;
  return replay::RawMode::kRendezvous;
}

}  // namespace

Result<std::map<std::string, std::string>> read_archive(const std::string& path) {
  std::map<std::string, std::string> out;
  std::unique_ptr<archive, decltype(&archive_read_free)> a(archive_read_new(), &archive_read_free);
  archive_read_support_filter_all(a.get());
  archive_read_support_format_tar(a.get());
  archive_read_support_format_raw(a.get());
  const auto failed = [&] {
    return bad_input(path, archive_error_string(a.get()) ? archive_error_string(a.get()) : "?");
  };
  if (archive_read_open_filename(a.get(), path.c_str(), 1 << 16) != ARCHIVE_OK) return failed();
  archive_entry* entry = nullptr;
  int code = ARCHIVE_OK;
  while ((code = archive_read_next_header(a.get(), &entry)) == ARCHIVE_OK) {
    const bool raw = archive_format(a.get()) == ARCHIVE_FORMAT_RAW;
    if (!raw && archive_entry_filetype(entry) != AE_IFREG) continue;
    std::string text;
    std::array<char, 1 << 16> buffer{};
    la_ssize_t n = 0;
    while ((n = archive_read_data(a.get(), buffer.data(), buffer.size())) > 0)
      text.append(buffer.data(), static_cast<std::size_t>(n));
    if (n < 0) return failed();
    out.emplace(raw ? std::string{} : archive_entry_pathname(entry), std::move(text));
  }
  if (code != ARCHIVE_EOF) return failed();
  return out;
}

std::string OracleCase::name() const {
  return trace + "." + platform + (lat1us ? "_lat1us." : "_lat0.") + model + "." + placement;
}

Result<SimgridOracle> SimgridOracle::open(const std::string& traces, const std::string& hosts) {
  SimgridOracle out;
  out.folder_ = traces;
  WEFT_ASSIGN(const auto files, read_archive(traces + "/simgrid_finish.tar.zst"));
  for (const auto& [name, text] : files) {
    std::vector<double> finish;
    std::istringstream in(text);
    std::string word;
    std::size_t rank = 0;
    double seconds = 0;
    while (in >> word >> rank >> seconds) {
      if (rank != finish.size()) break;  // a rank that never finished: the replay stopped in a deadlock
      finish.push_back(seconds);
    }
    out.answers_[name] = std::move(finish);
  }
  for (const char* p : kPlacements) {
    WEFT_ASSIGN(const std::string text, read_file(hosts + "/hosts256_" + p + ".txt"));
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      out.placements_[p].push_back(static_cast<std::uint32_t>(std::stoul(line.substr(line.find('-') + 1))));
    }
  }
  return out;
}

std::vector<std::string> SimgridOracle::traces() const {
  std::vector<std::string> out;
  for (const auto& [name, finish] : answers_) {
    const std::string trace = name.substr(0, name.find('.'));
    if ((out.empty() || out.back() != trace) && !cases(trace).empty()) out.push_back(trace);
  }
  return out;
}

std::vector<OracleCase> SimgridOracle::cases(const std::string& trace) const {
  std::vector<OracleCase> out;
  std::string file = trace;
  if (file.ends_with(kNoSync)) file.resize(file.size() - std::string(kNoSync).size());
  if (!std::filesystem::exists(folder_ + "/" + file + "/trace.tar.zst")) return out;
  for (const char* platform : kPlatforms)
    for (const bool lat1us : {false, true})
      for (const char* model : kModels)
        for (const char* placement : kPlacements) {
          OracleCase c{trace, platform, lat1us, model, placement};
          if (answers_.contains(c.name())) out.push_back(std::move(c));
        }
  return out;
}

Result<MemoryTrace*> SimgridOracle::trace(const std::string& name) {
  auto& slot = traces_[name];
  if (!slot) {
    std::string file = name;
    const bool nosync = file.ends_with(kNoSync);
    if (nosync) file.resize(file.size() - std::string(kNoSync).size());
    WEFT_ASSIGN(const auto reader, traces::open_trace({folder_ + "/" + file + "/trace.tar.zst"}));
    WEFT_ASSIGN(MemoryTrace copy, MemoryTrace::copy(*reader, [&](traces::Op& op) {
                  // SimGrid cannot replay Ssend: its answers are for the same trace with plain sends.
                  if (nosync && op.kind == traces::OpKind::ssend) op.kind = traces::OpKind::send;
                  if (nosync && op.kind == traces::OpKind::issend) op.kind = traces::OpKind::isend;
                }));
    slot = std::make_unique<MemoryTrace>(std::move(copy));
  }
  return slot.get();
}

Result<const topology::Platform*> SimgridOracle::platform(const std::string& name, bool lat1us) {
  auto& slot = platforms_[name + (lat1us ? "1" : "0")];
  if (!slot) {
    WEFT_ASSIGN(topology::Platform p,
                topology::load_platform("routes:path=" + folder_ + "/routes/" + name +
                                        ".txt.zst,lat=" + (lat1us ? "1us" : "0") + ",speed=10Gflops"));
    slot = std::make_unique<topology::Platform>(std::move(p));
  }
  return slot.get();
}

Result<void> SimgridOracle::use_builder(const std::string& name, const std::string& spec) {
  for (const bool lat1us : {false, true}) {
    WEFT_ASSIGN(topology::Platform p,
                topology::load_platform(spec + ",bw=12.5GB/s,speed=10Gflops,lat=" + (lat1us ? "1us" : "0")));
    platforms_[name + (lat1us ? "1" : "0")] = std::make_unique<topology::Platform>(std::move(p));
  }
  return {};
}

Result<replay::ReplayResult> SimgridOracle::replay_case(
    const OracleCase& c, MemoryTrace& program,
    const std::function<void(RankId, std::uint64_t, SimTime, SimTime)>& on_op) {
  WEFT_ASSIGN(const topology::Platform* const where, platform(c.platform, c.lat1us));
  const auto& hosts = placements_.at(c.placement);
  std::vector<HostId> placement;
  for (std::uint32_t r = 0; r < program.header().ranks; ++r) placement.emplace_back(hosts.at(r));

  replay::ReplayOptions options;
  options.raw = raw_mode(c.model);
  options.header = Bytes(16);
  options.rtt_weights = c.lat1us && c.platform != "crossbar";
  options.on_op = on_op;
  program.rewind();
  return replay::replay(program, *where, placement, options);
}

Result<double> SimgridOracle::sensitivity(const OracleCase& c, int seeds) {
  WEFT_ASSIGN(MemoryTrace* const program, trace(c.trace));
  WEFT_ASSIGN(const replay::ReplayResult base, replay_case(c, *program, {}));
  double worst = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    Rng rng(static_cast<std::uint64_t>(seed));
    WEFT_ASSIGN(MemoryTrace moved, MemoryTrace::copy(*program, [&](traces::Op& op) {
                  // Hosts compute 1e10 flop/s: 0.01 flop is a picosecond.
                  if (op.kind == traces::OpKind::compute_flops)
                    op.amount = std::bit_cast<std::int64_t>(op.flops() + 0.01 * rng.unit());
                }));
    WEFT_ASSIGN(const replay::ReplayResult other, replay_case(c, moved, {}));
    for (std::size_t r = 0; r < base.ranks.size(); ++r) {
      const double a = to_seconds(base.ranks[r].finish);
      worst = std::max(worst, std::abs(to_seconds(other.ranks[r].finish) - a) / a);
    }
  }
  return worst;
}

Result<OracleRow> SimgridOracle::run(
    const OracleCase& c, const std::function<void(RankId, std::uint64_t, SimTime, SimTime)>& on_op) {
  WEFT_ASSIGN(MemoryTrace* const program, trace(c.trace));
  WEFT_ASSIGN(const replay::ReplayResult result, replay_case(c, *program, on_op));

  const auto& expected = answers_.at(c.name());
  OracleRow row;
  row.which = c;
  row.makespan = to_seconds(result.makespan);
  row.deadlock = !result.finished;
  row.deadlock_expected = expected.size() < program->header().ranks;
  if (row.deadlock || row.deadlock_expected) return row;
  for (std::size_t r = 0; r < expected.size(); ++r) {
    const double error = std::abs(to_seconds(result.ranks[r].finish) - expected[r]) / expected[r];
    if (error > row.worst) {
      row.worst = error;
      row.rank = static_cast<std::uint32_t>(r);
    }
  }
  return row;
}

Result<std::vector<std::vector<OracleLine>>> SimgridOracle::lines(const OracleCase& c) const {
  WEFT_ASSIGN(const auto files, read_archive(folder_ + "/" + c.name() + ".txt.zst"));
  std::vector<std::vector<OracleLine>> out;
  std::istringstream in(files.begin()->second);
  for (std::string text; std::getline(in, text);) {
    std::istringstream line(text);
    OracleLine l;
    std::size_t rank = 0;
    if (!(line >> l.start >> l.end >> rank)) continue;
    if (out.size() <= rank) out.resize(rank + 1);
    out[rank].push_back(l);
  }
  return out;
}

}  // namespace weft::testing
