// OTF2 archives -> operations. What becomes of what: docs/otf2.md; the library: archive.hpp.
//
// An archive is read twice, as DUMPI is: opening reads all ranks once (survey), for what is wrong with it, which
// communicators and regions are used, and what stands far from where it belongs (translator.hpp). Then each next_block()
// reads on where its rank stopped.
//
// Memory: the definitions, the buffers of archive.hpp, and per rank what a Translator holds, a batch of events, 72 bytes
// for a request that completes far away, 16 for a collective with counts of its own.
// Errors: kBadInput with FILE@byte (record, rank).
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "core/byte_sum.hpp"
#include "core/counted.hpp"
#include "traces/formats.hpp"
#include "traces/formats/otf2/archive.hpp"
#include "traces/formats/otf2/event_file.hpp"
#include "traces/formats/otf2/translator.hpp"
#include "traces/weft/format.hpp"

namespace weft::traces {
namespace {

using namespace otf2;

class Otf2Reader final : public TraceReader {
 public:
  Result<void> open(const std::string& path);

  const TraceHeader& header() const override { return header_; }
  const TraceTotals& totals() const override { return totals_; }
  const std::vector<Communicator>& communicators() const override { return comms_; }
  const std::vector<std::string>& regions() const override { return regions_; }
  std::uint64_t ops_of(RankId rank) const override { return ranks_.at(rank.index()).ops; }
  Result<bool> next_block(RankId rank, OpBlock& out) override;
  void rewind() override {
    for (Rank& r : ranks_) r.reading.reset();
  }
  std::string position(RankId rank, std::uint64_t index) const override;

 private:
  struct Reading {
    explicit Reading(Translator t) : translator(std::move(t)) {}
    Translator translator;
    std::vector<Event> batch;
    std::size_t at = 0;            // in the batch
    std::uint64_t next_event = 1;  // after the batch
    std::uint64_t next_op = 0;
    bool ended = false;
  };
  struct Rank {
    Ahead ahead;
    std::uint64_t ops = 0;
    std::unique_ptr<Reading> reading;  // none: at the start
  };
  // All events of a location that is prepared go to `see`, which returns Result<void>.
  template <class See>
  Result<void> each_event(std::uint64_t from, std::uint32_t rank, See see);
  Result<void> survey(std::uint32_t rank, Losses& losses);
  Result<void> count_threads(Losses& losses);
  Result<void> make_definitions();
  // Reads on until the queue has `most` operations or the rank ends.
  Result<void> advance(std::uint32_t rank, Reading& r, std::size_t most) const;
  [[nodiscard]] Error at_event(Error e, std::uint64_t location, std::uint32_t rank,
                               std::uint64_t number) const;
  [[nodiscard]] std::uint64_t location(std::uint32_t rank) const {
    return archive_->definitions().rank_locations[rank];
  }

  std::unique_ptr<Archive> archive_;
  std::vector<Rank> ranks_;
  TraceHeader header_;
  TraceTotals totals_;
  std::vector<Communicator> comms_;
  std::vector<std::string> regions_;
  mutable Used used_;            // a second pass only reads it
  mutable VectorSizes vectors_;  // also
  std::size_t block_ops_ = kMaxBlockOps, batch_ = 256;
};

Error Otf2Reader::at_event(Error e, std::uint64_t location, std::uint32_t rank, std::uint64_t number) const {
  e.where = event_position(archive_->event_path(location), archive_->chunk_bytes(), rank, number);
  return e;
}

Result<void> Otf2Reader::open(const std::string& path) {
  WEFT_ASSIGN(archive_, Archive::open(path));
  const Definitions& d = archive_->definitions();
  header_.ranks = d.ranks();
  header_.hostnames = d.hostnames;
  block_ops_ = block_ops_for(header_.ranks);
  batch_ = header_.ranks <= 1024 ? 256 : 64;
  ranks_.resize(header_.ranks);
  Losses losses;
  for (std::uint32_t r = 0; r < header_.ranks; ++r) WEFT_TRY(survey(r, losses));
  WEFT_TRY(count_threads(losses));
  if (totals_.ops == 0) return bad_input(archive_->path(), "the trace holds no call of MPI and no region");
  WEFT_TRY(make_definitions());
  header_.recorder = fmt::format("otf2 {}{}{}", archive_->version(),
                                 archive_->creator().empty() ? "" : " by ", archive_->creator());
  header_.clock_resolution_ps =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(1'000'000'000'000u / d.ticks_per_second));
  losses.describe(d, header_);
  return {};
}

template <class See>
Result<void> Otf2Reader::each_event(std::uint64_t from, std::uint32_t rank, See see) {
  constexpr std::size_t kBatch = 4096;
  std::vector<Event> batch;
  const std::uint64_t events = archive_->definitions().locations.at(from).events;
  for (std::uint64_t next = 1; next <= events; next += kBatch) {
    WEFT_TRY(archive_->read(from, rank, next, kBatch, batch));
    for (const Event& e : batch) WEFT_TRY(see(e));
  }
  return {};
}

Result<void> Otf2Reader::survey(std::uint32_t rank, Losses& losses) {
  const std::uint64_t from = location(rank);
  WEFT_TRY(archive_->prepare(from, rank));
  Translator translator(archive_->definitions(), rank, nullptr, used_, vectors_, &losses);
  WEFT_TRY(each_event(from, rank, [&](const Event& e) -> Result<void> {
    if (auto error = translator.add(e)) return at_event(std::move(*error), from, rank, e.number);
    return {};
  }));
  if (auto error = translator.finish())
    return at_event(std::move(*error), from, rank, archive_->definitions().locations.at(from).events);
  Rank& r = ranks_[rank];
  r.ahead = std::move(translator.found());
  r.ahead.far.shrink_to_fit();
  r.ops = translator.totals().ops;
  totals_.ops += r.ops;
  totals_.messages += translator.totals().messages;
  totals_.bytes = add_bytes(totals_.bytes, translator.totals().bytes);
  return {};
}

// What threads without a rank did with MPI: they are left out, and how much that is, is told.
Result<void> Otf2Reader::count_threads(Losses& losses) {
  for (const auto& [thread, rank] : archive_->definitions().other_threads) {
    if (archive_->definitions().locations.at(thread).events == 0) continue;
    WEFT_TRY(archive_->prepare(thread, rank));
    std::uint64_t found = 0;
    WEFT_TRY(each_event(thread, rank, [&](const Event& e) -> Result<void> {
      found += e.type == EventType::send || e.type == EventType::isend || e.type == EventType::recv ||
               e.type == EventType::irecv || e.type == EventType::collective_end ||
               e.type == EventType::icollective_complete;
      return {};
    }));
    losses.thread_events += found;
    losses.threads += found > 0 ? 1 : 0;
  }
  return {};
}

// Communicators and regions that are used, in the order of their definitions; the world first.
Result<void> Otf2Reader::make_definitions() {
  const Definitions& d = archive_->definitions();
  Communicator& world = comms_.emplace_back();
  world.name = "world";
  for (std::uint32_t r = 0; r < header_.ranks; ++r) world.members.push_back(static_cast<std::int32_t>(r));
  std::uint64_t members = header_.ranks;
  std::vector<std::uint32_t> order(used_.comms.begin(), used_.comms.end());
  std::ranges::sort(order, {}, [&d](std::uint32_t c) { return d.comms.at(c).order; });
  std::uint32_t made = 0;
  for (const std::uint32_t ref : order) {
    if (ref == d.world) {
      used_.comm_ids[ref] = CommId(0);
      continue;
    }
    const CommDef& def = d.comms.at(ref);
    members += def.members->size();
    if (members > format::kMaxMembers)
      return bad_input(archive_->path(), "the communicators have too many members", std::to_string(members),
                       fmt::format("at most {}", format::kMaxMembers));
    used_.comm_ids[ref] = CommId(static_cast<std::uint32_t>(comms_.size()));
    std::string name = d.text(def.name);
    if (name.empty()) name = fmt::format("split{}", ++made);
    comms_.push_back({std::move(name), *def.members});
  }
  for (const auto& self : used_.selves) {
    used_.self_ids[self] = CommId(static_cast<std::uint32_t>(comms_.size()));
    comms_.push_back({"self", {static_cast<std::int32_t>(self.second)}});
  }
  std::vector<std::uint32_t> regions(used_.regions.begin(), used_.regions.end());
  std::ranges::sort(regions, {}, [&d](std::uint32_t r) { return d.regions.at(r).order; });
  for (const std::uint32_t ref : regions) {
    used_.region_ids[ref] = static_cast<std::int64_t>(regions_.size());
    regions_.push_back(d.region_name(ref));
  }
  return {};
}

Result<void> Otf2Reader::advance(std::uint32_t rank, Reading& r, std::size_t most) const {
  const std::uint64_t from = location(rank);
  const std::uint64_t events = archive_->definitions().locations.at(from).events;
  while (!r.ended && !r.translator.full(most)) {
    if (r.at < r.batch.size()) {
      const Event& e = r.batch[r.at++];
      if (auto error = r.translator.add(e)) return at_event(std::move(*error), from, rank, e.number);
    } else if (r.next_event <= events) {
      WEFT_TRY(archive_->read(from, rank, r.next_event, batch_, r.batch));
      r.next_event += std::min<std::uint64_t>(batch_, events - r.next_event + 1);
      r.at = 0;
    } else {
      if (auto error = r.translator.finish()) return at_event(std::move(*error), from, rank, events);
      r.ended = true;
      r.batch = {};
      r.at = 0;
    }
  }
  return {};
}

Result<bool> Otf2Reader::next_block(RankId id, OpBlock& out) {
  const std::uint32_t rank = id.index();
  Rank& rk = ranks_.at(rank);
  out.clear();
  out.rank = id;
  if (!rk.reading)
    rk.reading = std::make_unique<Reading>(
        Translator(archive_->definitions(), rank, &rk.ahead, used_, vectors_, nullptr));
  Reading& r = *rk.reading;
  out.first_op = r.next_op;
  // A hole in front of the queue: more is read until it is filled, kWindow operations at most.
  for (std::size_t most = block_ops_;; most += block_ops_) {
    WEFT_TRY(advance(rank, r, most));
    r.translator.drain(block_ops_, out);
    if (!out.ops.empty() || r.ended) break;
  }
  r.next_op += out.ops.size();
  return !out.ops.empty();
}

// By reading the rank again up to there: seldom asked.
std::string Otf2Reader::position(RankId id, std::uint64_t index) const {
  const std::uint32_t rank = id.index();
  const std::uint64_t from = location(rank);
  std::string path = archive_->event_path(from);
  auto again = Archive::open(archive_->path());
  if (!again || !(*again)->prepare(from, rank)) return path;
  Translator translator((*again)->definitions(), rank, &ranks_[rank].ahead, used_, vectors_, nullptr);
  std::vector<Event> batch;
  OpBlock block;
  std::uint64_t ops = 0, last = 1;
  const std::uint64_t events = archive_->definitions().locations.at(from).events;
  for (std::uint64_t next = 1; next <= events && ops <= index; next += batch_) {
    if (!(*again)->read(from, rank, next, batch_, batch)) return path;
    for (const Event& e : batch) {
      last = e.number;
      if (translator.add(e)) return path;
      translator.drain(SIZE_MAX, block);
      ops += block.ops.size();
      block.clear();
      if (ops > index) break;
    }
  }
  return event_position(path, archive_->chunk_bytes(), rank, last);
}

}  // namespace

bool sniff_otf2(const std::string& path, std::string_view first_bytes) {
  if (first_bytes.empty()) return !find_anchor(path).empty();
  return path.ends_with(".otf2") ||
         (first_bytes.size() > 6 && first_bytes[0] == '\x03' && first_bytes.substr(2, 4) == "OTF2");
}

std::vector<std::string> files_otf2(const std::vector<std::string>& paths) {
  const std::string anchor = find_anchor(paths[0]);
  if (anchor.empty()) return {};
  const std::filesystem::path base = std::filesystem::path(anchor).replace_extension();
  std::vector<std::string> out = {anchor, base.string() + ".def"};
  std::error_code none;
  for (const auto& e : std::filesystem::directory_iterator(base, none))
    if (e.path().extension() == ".evt" || e.path().extension() == ".def") out.push_back(e.path().string());
  return out;
}

Result<std::unique_ptr<TraceReader>> open_otf2(const std::vector<std::string>& paths,
                                               const OpenOptions& /*options*/) {
  if (paths.size() != 1)
    return usage_error("an OTF2 trace is one archive", fmt::format("{} paths", paths.size()),
                       "its directory or its file NAME.otf2");
  auto reader = std::make_unique<Otf2Reader>();
  WEFT_TRY(reader->open(paths[0]));
  return std::unique_ptr<TraceReader>(std::move(reader));
}

}  // namespace weft::traces
