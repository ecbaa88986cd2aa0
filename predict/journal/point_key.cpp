#include "predict/journal/point_key.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <bit>
#include <charconv>
#include <memory>
#include <span>
#include <vector>

#include "core/files/input_file.hpp"
#include "core/out_of_memory.hpp"
#include "replay/collectives/rules.hpp"
#include "topology/placement/placement.hpp"

namespace weft::predict {
namespace {

constexpr std::size_t kKeyChunk = std::size_t{1} << 20;

// XXH3 over pieces.
class Hasher {
 public:
  Hasher() : state_(allocated(XXH3_createState()), &XXH3_freeState) { XXH3_128bits_reset(state_.get()); }
  void add(const void* data, std::size_t size) { XXH3_128bits_update(state_.get(), data, size); }
  void add(std::uint64_t v) { add(&v, sizeof v); }
  void add(std::string_view s) {
    add(s.size());
    add(s.data(), s.size());
  }
  template <class T, class Storage>
  void add_all(const std::vector<T, Storage>& v) {
    add(v.size());
    add(v.data(), v.size() * sizeof(T));
  }
  [[nodiscard]] PointKey value() const {
    const XXH128_hash_t h = XXH3_128bits_digest(state_.get());
    return {h.high64, h.low64};
  }

 private:
  std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state_;
};

std::optional<FileStamp> stamp_of(const std::string& path) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return std::nullopt;
  const auto ns = [](const timespec& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
  return FileStamp{st.st_dev, st.st_ino, st.st_size, ns(st.st_mtim), ns(st.st_ctim)};
}

bool may_be_path(const std::string& path) { return !path.empty() && path.find('\0') == std::string::npos; }

std::string digest_of(std::string_view bytes) {
  Hasher hash;
  hash.add(bytes.data(), bytes.size());
  return hash.value().text();
}

std::string digest_of_file(const std::string& path) {
  if (!may_be_path(path)) return {};
  if (!stamp_of(path)) {
    // A pipe: what it gave is kept for its reader.
    const auto bytes = read_file(path);
    return bytes ? digest_of(*bytes) : std::string();
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return {};
  Hasher hash;
  std::vector<char> chunk(kKeyChunk);
  ssize_t n = 0;
  while ((n = ::read(fd, chunk.data(), chunk.size())) > 0)
    hash.add(chunk.data(), static_cast<std::size_t>(n));
  ::close(fd);
  return n < 0 ? std::string() : hash.value().text();
}

}  // namespace

std::string PointKey::text() const { return fmt::format("{:016x}{:016x}", high, low); }

std::optional<PointKey> PointKey::parse(std::string_view text) {
  PointKey k;
  if (text.size() != 32) return std::nullopt;
  const char* middle = text.data() + 16;
  const char* end = text.data() + 32;
  if (std::from_chars(text.data(), middle, k.high, 16).ptr != middle) return std::nullopt;
  if (std::from_chars(middle, end, k.low, 16).ptr != end) return std::nullopt;
  return k;
}

std::uint64_t checksum(std::string_view bytes) { return XXH64(bytes.data(), bytes.size(), 0); }

const std::string& FileDigests::of(const std::string& path) {
  const auto [at, fresh] = known_.try_emplace(path);
  if (fresh) {
    // First: what is written while it is read is seen later.
    watch(path);
    at->second = digest_of_file(path);
  }
  return at->second;
}

void FileDigests::watch(const std::string& path) {
  if (const auto [at, fresh] = stamps_.try_emplace(path); fresh && may_be_path(path))
    at->second = stamp_of(path);
}

std::string FileDigests::changed() const {
  for (const auto& [path, before] : stamps_)
    if (may_be_path(path) && stamp_of(path) != before) return path;
  return {};
}

const std::string& FileDigests::of_platform(std::string_view spec, const topology::PlatformChanges& changes) {
  const auto& [set, routing, failures, seed] = changes;
  std::vector<std::string> asked = {std::string(spec), routing, fmt::format("{}", seed)};
  asked.insert(asked.end(), set.begin(), set.end());
  asked.emplace_back();
  asked.insert(asked.end(), failures.begin(), failures.end());
  const auto [at, fresh] = platforms_.try_emplace(std::move(asked));
  if (!fresh) return at->second;
  // A platform that cannot be read has no points: whoever builds it says why.
  if (const auto files = topology::platform_files(spec, changes))
    for (const std::string& file : *files)
      // mpi.collectives may have more than the file.
      if (const std::string& digest = of(replay::file_of_collective_rules(file).value_or(file));
          !digest.empty())
        at->second += digest + '\n';
  return at->second;
}

KeyMaker::KeyMaker(std::string_view kind, std::string_view version, FileDigests& files) : files_(&files) {
  add("kind", kind);
  add("version", version);
}

KeyMaker& KeyMaker::add(std::string_view name, std::string_view text) {
  text_ += fmt::format("{}:{} {}:{}\n", name.size(), name, text.size(), text);
  return *this;
}

KeyMaker& KeyMaker::add(std::string_view name, std::uint64_t number) {
  return add(name, std::string_view(fmt::format("{}", number)));
}

KeyMaker& KeyMaker::add(std::string_view name, double number) {
  return add(name, std::string_view(fmt::format("{:016x}", std::bit_cast<std::uint64_t>(number))));
}

KeyMaker& KeyMaker::add_file(const std::string& path) { return add("file", files_->of(path)); }

KeyMaker& KeyMaker::add_map(std::string_view map) {
  add("map", map);
  const auto file = topology::file_of_map(map);
  return file ? add_file(*file) : *this;
}

KeyMaker& KeyMaker::add_collective_rules(std::string_view rules) {
  add("rules", rules);
  const auto file = replay::file_of_collective_rules(rules);
  return file ? add_file(*file) : *this;
}

KeyMaker& KeyMaker::add_platform_files(std::string_view spec, const topology::PlatformChanges& changes) {
  // Nothing where there are none: keys of built-in platforms and shorthand are as they were.
  const std::string& digests = files_->of_platform(spec, changes);
  return digests.empty() ? *this : add("platform_files", digests);
}

PointKey KeyMaker::key() const {
  const XXH128_hash_t h = XXH3_128bits(text_.data(), text_.size());
  return {h.high64, h.low64};
}

void add_options(KeyMaker& key, const replay::ReplayOptions& options) {
  // Callbacks watch and decide nothing.
  const auto& [raw, raw_switch, header, rtt_weights, model, accuracy, compute_scale, collectives,
               collective_rules, recorded_matches, join_computations, ranks_ahead, noise, seed, first_rank,
               unseen_s, critical_path, wait_states, ideal_network, what_if, on_progress, on_no_ideal, on_op,
               on_match, on_hang, on_region, on_message, on_device, on_copy, on_again] = options;
  key.add("raw", static_cast<std::uint64_t>(raw));
  key.add("raw_switch", raw_switch ? fmt::format("{}", raw_switch->value()) : std::string("none"));
  key.add("header", static_cast<std::uint64_t>(header.value()));
  key.add("rtt_weights", std::uint64_t{rtt_weights});
  key.add("model", model);
  key.add("accuracy", accuracy);
  key.add("compute_scale", compute_scale);
  for (const auto& [collective, algorithm] : collectives) key.add(collective, algorithm);
  key.add_collective_rules(collective_rules);
  key.add("recorded_matches", std::uint64_t{recorded_matches});
  key.add("noise", std::uint64_t{noise});
  key.add("seed", seed);
  key.add("first_rank", std::uint64_t{first_rank});
  key.add("unseen_s", unseen_s);
  key.add("critical_path", std::uint64_t{critical_path});
}

void add_platform(KeyMaker& key, std::string_view spec, const topology::PlatformChanges& changes) {
  const auto& [set, routing, failures, seed] = changes;
  key.add("platform", spec);
  for (const std::string& s : set) key.add("set", s);
  key.add_platform_files(spec, changes);
  key.add("routing", routing);
  for (const std::string& f : failures) key.add("fail", f);
  key.add("platform_seed", seed);
}

Result<std::string> trace_digest(traces::TraceReader& trace) {
  Hasher hash;
  const traces::TraceHeader& h = trace.header();
  const auto& [ranks, hostnames, recorder, mpi_version, command_line, hpl_dat, clock_resolution_ps, notes,
               warnings, recording] = h;
  hash.add(ranks);
  for (const auto* list : {&hostnames, &notes, &warnings}) {
    hash.add(list->size());
    for (const std::string& s : *list) hash.add(std::string_view(s));
  }
  for (const auto* text : {&recorder, &mpi_version, &command_line, &hpl_dat})
    hash.add(std::string_view(*text));
  hash.add(static_cast<std::uint64_t>(clock_resolution_ps));
  const auto& [not_recorded, thread_level, threads, concurrent_calls, clock, cpu_ps, wall_ps] = recording;
  hash.add(not_recorded.size());
  for (const traces::NotRecorded& n : not_recorded) {
    hash.add(std::string_view(n.group));
    hash.add(std::string_view(n.call));
    hash.add(n.count);
  }
  for (const std::uint64_t v : {std::uint64_t{thread_level}, std::uint64_t{threads}, concurrent_calls,
                                static_cast<std::uint64_t>(clock)})
    hash.add(v);
  hash.add_all(cpu_ps);
  hash.add_all(wall_ps);
  for (const traces::Communicator& c : trace.communicators()) {
    hash.add(std::string_view(c.name));
    hash.add_all(c.members);
  }
  for (const std::string& r : trace.regions()) hash.add(std::string_view(r));
  traces::OpBlock block;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    while (true) {
      block.clear();
      WEFT_ASSIGN(const bool more, trace.next_block(RankId(rank), block));
      if (!more) break;
      hash.add(rank);
      static_assert(std::has_unique_object_representations_v<traces::Op>);
      hash.add_all(block.ops);
      hash.add_all(block.lists);
    }
  trace.rewind();
  return hash.value().text();
}

}  // namespace weft::predict
