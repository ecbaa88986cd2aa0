#include "traces/formats/otf2/write/archive_writer.hpp"

#include <fmt/format.h>
#include <otf2/otf2.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <utility>

#include "traces/accelerator.hpp"
#include "traces/formats/otf2/anchor_file.hpp"
#include "traces/formats/otf2/archive.hpp"

namespace weft::traces::otf2 {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kTicksPerSecond = 1'000'000'000'000;  // picoseconds
// Where time begins. Not at 0: the library (3.0.2) writes no time in front of the first event of a chunk whose time is 0, and
// does not find that event when it reads the chunk.
constexpr std::uint64_t kOrigin = 1;

OTF2_FlushType flush(void* /*user*/, OTF2_FileType, OTF2_LocationRef, void* /*caller*/, bool /*final*/) {
  return OTF2_FLUSH;
}
constexpr OTF2_FlushCallbacks kFlush{flush, nullptr};

// While it lives, the first error that the library meets stands in `first`. What its calls return is not enough: a file
// that could not be written out comes back as success, or as a consequence ("the structural integrity is not given")
// of its cause, a full disk.
class Errors {
 public:
  explicit Errors(int& first) { silence_library(&first); }
  ~Errors() { silence_library(); }
  Errors(const Errors&) = delete;
  Errors& operator=(const Errors&) = delete;
};

// MPI_Reduce_scatter of "reduce_scatter".
std::string function_name(OpKind k) {
  std::string name(op_name(k));
  name[0] = static_cast<char>(name[0] - 32);
  return "MPI_" + name;
}

OTF2_RegionRole role_of(OpKind k) {
  if (is_collective(k)) return OTF2_REGION_ROLE_COLL_OTHER;
  return is_send(k) || (k >= OpKind::recv && k <= OpKind::testsome) ? OTF2_REGION_ROLE_POINT2POINT
                                                                    : OTF2_REGION_ROLE_FUNCTION;
}

}  // namespace

struct ArchiveWriter::Library {
  OTF2_Archive* archive = nullptr;
  OTF2_EvtWriter* events = nullptr;
  OTF2_GlobalDefWriter* definitions = nullptr;
  ~Library() {
    if (archive != nullptr) OTF2_Archive_Close(archive);
  }
};

ArchiveWriter::ArchiveWriter(std::string path)
    : path_(std::move(path)), library_(std::make_unique<Library>()) {}

// The library writes once more when it closes: before the folder goes away.
ArchiveWriter::~ArchiveWriter() { library_.reset(); }

Result<std::unique_ptr<ArchiveWriter>> ArchiveWriter::open(const std::string& path) {
  std::string dir = path;
  while (dir.size() > 1 && dir.ends_with('/')) dir.pop_back();
  std::error_code ec;
  if (dir == "-" || dir.empty()) return usage_error("an OTF2 archive is a directory", path, "-o DIRECTORY");
  if (fs::exists(dir, ec) && (!fs::is_directory(dir, ec) || !fs::is_empty(dir, ec)))
    return usage_error("the place of the OTF2 archive is taken", path,
                       "a directory that is empty or does not exist");
  std::unique_ptr<ArchiveWriter> w(new ArchiveWriter(dir));
  WEFT_ASSIGN(w->folder_, WorkFolder::open(dir));
  const Errors errors(w->failed_);
  OTF2_Archive* a = w->library_->archive = OTF2_Archive_Open(
      w->folder_.path().c_str(), "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_EVENTS_DEFAULT,
      OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
  if (a == nullptr) return bad_input(path, "cannot create an OTF2 archive" + w->reason());
  w->check(OTF2_Archive_SetFlushCallbacks(a, &kFlush, nullptr));
  w->check(OTF2_Archive_SetSerialCollectiveCallbacks(a));
  w->check(OTF2_Archive_SetCreator(a, "weft"));
  w->check(OTF2_Archive_SetBoolProperty(a, "OTF2::MPI_COMMUNICATION_COMPLETE", true, true));
  w->check(OTF2_Archive_OpenEvtFiles(a));
  return w;
}

void ArchiveWriter::check(int code) {
  if (failed_ == 0) failed_ = code;
}

std::string ArchiveWriter::reason() const {
  if (failed_ == 0) return {};
  return fmt::format(": {}", OTF2_Error_GetDescription(static_cast<OTF2_ErrorCode>(failed_)));
}

void ArchiveWriter::begin_rank(std::uint32_t rank) { begin(rank); }
void ArchiveWriter::begin_lane(std::uint32_t rank, std::uint32_t lane) {
  begin(events_.size());
  lanes_.push_back({rank, lane});
}
void ArchiveWriter::begin(std::uint64_t location) {
  const Errors errors(failed_);
  library_->events = OTF2_Archive_GetEvtWriter(library_->archive, location);
  if (library_->events == nullptr) check(OTF2_ERROR_FILE_INTERACTION);
  last_time_ = std::max<std::int64_t>(last_time_, 0);
  outside_calls_ = outside_since_ = 0;
  calls_open_ = 0;
}

// Every event at `time`; none where its file could not be made.
#define WEFT_WRITE(call, ...)                                                                            \
  do {                                                                                                   \
    if (library_->events == nullptr) return;                                                             \
    const Errors errors(failed_);                                                                        \
    last_time_ = std::max(last_time_, time);                                                             \
    check(OTF2_EvtWriter_##call(library_->events, nullptr,                                               \
                                kOrigin + static_cast<std::uint64_t>(time) __VA_OPT__(, ) __VA_ARGS__)); \
  } while (false)

void ArchiveWriter::enter(std::int64_t time, std::uint32_t region) {
  if (calls_open_ == 0) outside_calls_ += time - std::exchange(outside_since_, time);
  if (region < region_of(std::int64_t{0})) ++calls_open_;
  WEFT_WRITE(Enter, region);
}
void ArchiveWriter::leave(std::int64_t time, std::uint32_t region) {
  if (calls_open_ == 0) outside_calls_ += time - std::exchange(outside_since_, time);
  if (region < region_of(std::int64_t{0}) && --calls_open_ == 0) outside_since_ = time;
  WEFT_WRITE(Leave, region);
}
std::uint32_t ArchiveWriter::named(const TraceReader& trace, const std::string& name) {
  const auto at = std::ranges::find(named_, name) - named_.begin();
  if (at == std::ssize(named_)) named_.push_back(name);
  return region_of(std::ssize(trace.regions()) + at);
}
void ArchiveWriter::send(std::int64_t time, std::uint32_t peer, std::uint32_t comm, std::int32_t tag,
                         std::int64_t bytes) {
  WEFT_WRITE(MpiSend, peer, comm, static_cast<std::uint32_t>(tag), static_cast<std::uint64_t>(bytes));
}
void ArchiveWriter::isend(std::int64_t time, std::uint32_t peer, std::uint32_t comm, std::int32_t tag,
                          std::int64_t bytes, std::uint64_t request) {
  WEFT_WRITE(MpiIsend, peer, comm, static_cast<std::uint32_t>(tag), static_cast<std::uint64_t>(bytes),
             request);
}
void ArchiveWriter::isend_complete(std::int64_t time, std::uint64_t request) {
  WEFT_WRITE(MpiIsendComplete, request);
}
void ArchiveWriter::irecv_request(std::int64_t time, std::uint64_t request) {
  WEFT_WRITE(MpiIrecvRequest, request);
}
void ArchiveWriter::recv(std::int64_t time, std::uint32_t peer, std::uint32_t comm, std::int32_t tag,
                         std::int64_t bytes) {
  WEFT_WRITE(MpiRecv, peer, comm, static_cast<std::uint32_t>(tag), static_cast<std::uint64_t>(bytes));
}
void ArchiveWriter::irecv(std::int64_t time, std::uint32_t peer, std::uint32_t comm, std::int32_t tag,
                          std::int64_t bytes, std::uint64_t request) {
  WEFT_WRITE(MpiIrecv, peer, comm, static_cast<std::uint32_t>(tag), static_cast<std::uint64_t>(bytes),
             request);
}
void ArchiveWriter::request_test(std::int64_t time, std::uint64_t request) {
  WEFT_WRITE(MpiRequestTest, request);
}
void ArchiveWriter::request_cancelled(std::int64_t time, std::uint64_t request) {
  WEFT_WRITE(MpiRequestCancelled, request);
}
void ArchiveWriter::collective_begin(std::int64_t time) { WEFT_WRITE(MpiCollectiveBegin); }
void ArchiveWriter::collective_end(std::int64_t time, std::uint8_t op, std::uint32_t comm, std::uint32_t root,
                                   std::uint64_t sent, std::uint64_t received) {
  WEFT_WRITE(MpiCollectiveEnd, op, comm, root, sent, received);
}
void ArchiveWriter::icollective_request(std::int64_t time, std::uint64_t request) {
  WEFT_WRITE(NonBlockingCollectiveRequest, request);
}
void ArchiveWriter::icollective_complete(std::int64_t time, std::uint8_t op, std::uint32_t comm,
                                         std::uint32_t root, std::uint64_t sent, std::uint64_t received,
                                         std::uint64_t request) {
  WEFT_WRITE(NonBlockingCollectiveComplete, op, comm, root, sent, received, request);
}
void ArchiveWriter::comm_create(std::int64_t time, std::uint32_t comm) {
  if (made_.size() <= comm) made_.resize(comm + std::size_t{1});
  made_[comm] = true;
  WEFT_WRITE(CommCreate, comm);
}
void ArchiveWriter::comm_destroy(std::int64_t time, std::uint32_t comm) { WEFT_WRITE(CommDestroy, comm); }
#undef WEFT_WRITE

void ArchiveWriter::end_events() {
  const Errors errors(failed_);
  std::uint64_t n = 0;
  if (library_->events != nullptr) {
    check(OTF2_EvtWriter_GetNumberOfEvents(library_->events, &n));
    check(OTF2_Archive_CloseEvtWriter(library_->archive, library_->events));
  }
  events_.push_back(n);
  library_->events = nullptr;
}

std::uint32_t ArchiveWriter::text(const std::string& s) {
  const auto [it, fresh] = strings_.emplace(s, static_cast<std::uint32_t>(strings_.size()));
  if (fresh) check(OTF2_GlobalDefWriter_WriteString(library_->definitions, it->second, s.c_str()));
  return it->second;
}

void ArchiveWriter::define(const TraceReader& trace) {
  OTF2_GlobalDefWriter* g = library_->definitions;
  const std::uint32_t none = text("");
  check(OTF2_GlobalDefWriter_WriteClockProperties(
      g, kTicksPerSecond, kOrigin, static_cast<std::uint64_t>(last_time_) + 1, OTF2_UNDEFINED_TIMESTAMP));
  check(OTF2_GlobalDefWriter_WriteParadigm(g, OTF2_PARADIGM_MPI, text("MPI"), OTF2_PARADIGM_CLASS_PROCESS));
  const auto region = [&](std::uint32_t ref, const std::string& name, OTF2_RegionRole role,
                          OTF2_Paradigm paradigm) {
    const std::uint32_t id = text(name);
    check(OTF2_GlobalDefWriter_WriteRegion(g, ref, id, id, none, role, paradigm, OTF2_REGION_FLAG_NONE, none,
                                           0, 0));
  };
  for (std::size_t k = 0; k < kOpKindCount; ++k) {
    const auto kind = static_cast<OpKind>(k);
    if (!is_compute(kind)) region(region_of(kind), function_name(kind), role_of(kind), OTF2_PARADIGM_MPI);
  }
  for (std::size_t r = 0; r < trace.regions().size(); ++r)
    region(region_of(static_cast<std::int64_t>(r)), trace.regions()[r], OTF2_REGION_ROLE_CODE,
           OTF2_PARADIGM_USER);

  for (const std::string& name : named_)
    region(named(trace, name), name, OTF2_REGION_ROLE_CODE, OTF2_PARADIGM_USER);

  const auto& header = trace.header();
  check(OTF2_GlobalDefWriter_WriteSystemTreeNode(g, 0, text("machine"), text("machine"),
                                                 OTF2_UNDEFINED_SYSTEM_TREE_NODE));
  std::unordered_map<std::string, std::uint32_t> nodes;
  for (std::uint32_t r = 0; r < header.ranks; ++r) {
    const std::string host = r < header.hostnames.size() ? header.hostnames[r] : std::string("node");
    const auto [node, fresh] = nodes.emplace(host, static_cast<std::uint32_t>(nodes.size() + 1));
    if (fresh) check(OTF2_GlobalDefWriter_WriteSystemTreeNode(g, node->second, text(host), text("node"), 0));
    check(OTF2_GlobalDefWriter_WriteLocationGroup(g, r, text(fmt::format("MPI Rank {}", r)),
                                                  OTF2_LOCATION_GROUP_TYPE_PROCESS, node->second,
                                                  OTF2_UNDEFINED_LOCATION_GROUP));
    check(OTF2_GlobalDefWriter_WriteLocation(g, r, text("Master thread"), OTF2_LOCATION_TYPE_CPU_THREAD,
                                             events_[r], r));
  }
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    check(OTF2_GlobalDefWriter_WriteLocation(g, header.ranks + i, text(kLaneNames[lanes_[i].lane]),
                                             OTF2_LOCATION_TYPE_ACCELERATOR_STREAM, events_[header.ranks + i],
                                             lanes_[i].rank));
  std::vector<std::uint64_t> members(header.ranks);
  for (std::uint32_t r = 0; r < header.ranks; ++r) members[r] = r;
  check(OTF2_GlobalDefWriter_WriteGroup(g, 0, none, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                        OTF2_GROUP_FLAG_NONE, header.ranks, members.data()));
  const auto& comms = trace.communicators();
  for (std::uint32_t c = 0; c < comms.size(); ++c) {
    members.assign(comms[c].members.begin(), comms[c].members.end());
    check(OTF2_GlobalDefWriter_WriteGroup(g, c + 1, none, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                          OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(members.size()),
                                          members.data()));
  }
  for (std::uint32_t c = 0; c < comms.size(); ++c)
    check(OTF2_GlobalDefWriter_WriteComm(
        g, c, text(c == 0 ? "MPI_COMM_WORLD" : comms[c].name), c + 1, OTF2_UNDEFINED_COMM,
        c < made_.size() && made_[c] ? OTF2_COMM_FLAG_CREATE_DESTROY_EVENTS : OTF2_COMM_FLAG_NONE));
}

// The library draws the number of the trace from the clock; the same trace is to be the same bytes: from its definitions.
Result<void> ArchiveWriter::settle() const {
  const std::string anchor = folder_.path() + "/traces.otf2";
  const auto a = read_anchor(anchor);
  if (!a) return bad_input(path_, "cannot write the archive: its anchor is not whole");
  std::ifstream definitions(folder_.path() + "/traces.def", std::ios::binary);
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char c = 0; definitions.get(c);) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  if (!definitions.eof()) return bad_input(path_, "cannot write the archive: its definitions cannot be read");
  std::fstream out(anchor, std::ios::binary | std::ios::in | std::ios::out);
  out.seekp(static_cast<std::streamoff>(a->trace_id_at));
  out.write(reinterpret_cast<const char*>(&hash), sizeof hash);
  if (!out.flush()) return bad_input(path_, "cannot write the archive");
  return {};
}

Result<void> ArchiveWriter::commit(const TraceReader& trace) {
  const Errors errors(failed_);
  OTF2_Archive* a = library_->archive;
  check(OTF2_Archive_CloseEvtFiles(a));
  // A location without a file of definitions is a complaint of otf2-print.
  check(OTF2_Archive_OpenDefFiles(a));
  for (std::size_t location = 0; location < events_.size(); ++location) {
    OTF2_DefWriter* d = OTF2_Archive_GetDefWriter(a, location);
    check(d == nullptr ? OTF2_ERROR_FILE_INTERACTION : OTF2_Archive_CloseDefWriter(a, d));
  }
  check(OTF2_Archive_CloseDefFiles(a));
  library_->definitions = OTF2_Archive_GetGlobalDefWriter(a);
  if (library_->definitions == nullptr) {
    check(OTF2_ERROR_FILE_INTERACTION);
  } else {
    define(trace);
    check(OTF2_Archive_CloseGlobalDefWriter(a, library_->definitions));
  }
  check(OTF2_Archive_Close(a));
  library_->archive = nullptr;
  if (failed_ != 0) return bad_input(path_, "cannot write the archive" + reason());
  WEFT_TRY(settle());
  const HoldInterrupts hold;
  std::error_code ec;
  fs::permissions(folder_.path(),
                  fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                      fs::perms::others_read | fs::perms::others_exec,
                  ec);
  fs::rename(folder_.path(), path_, ec);  // in place of an empty directory, too
  if (ec) return bad_input(path_, "cannot name the archive: " + ec.message());
  folder_.keep();
  return {};
}

}  // namespace weft::traces::otf2
