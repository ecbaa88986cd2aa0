#include "traces/formats/otf2/archive.hpp"

#include <fmt/format.h>
#include <otf2/otf2.h>

#include <algorithm>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>

#include "core/out_of_memory.hpp"
#include "traces/formats/otf2/definition_file.hpp"
#include "traces/packed/other_trace.hpp"

namespace weft::traces::otf2 {
namespace {

namespace fs = std::filesystem;

OTF2_ErrorCode silent(void* first, const char* /*file*/, uint64_t /*line*/, const char* /*function*/,
                      OTF2_ErrorCode code, const char* /*format*/, std::va_list /*args*/) {
  // The library itself goes on with what it has not got.
  if (code == OTF2_ERROR_ENOMEM || code == OTF2_ERROR_MEM_FAULT || code == OTF2_ERROR_MEM_ALLOC_FAILED)
    library_ran_out_of_memory();
  // Below success are warnings.
  if (auto* told = static_cast<int*>(first); told != nullptr && *told == OTF2_SUCCESS && code > OTF2_SUCCESS)
    *told = code;
  return code;
}

// A file of the archive that the archive may lack; an error where it is there, but packed.
Result<bool> has_plain(const std::string& path) {
  std::error_code ec;
  if (fs::is_regular_file(path, ec)) return true;
  if (auto packed = packed_part_of(path, "an OTF2 archive")) return *std::move(packed);
  return false;
}

// --- definitions ---

struct Loading {
  Definitions* d;
  std::string twice;  // what was defined twice
  std::uint32_t regions = 0, comms = 0;

  OTF2_CallbackCode known(const char* what, std::uint64_t ref) {
    twice = fmt::format("{} {}", what, ref);
    return OTF2_CALLBACK_INTERRUPT;
  }
};
Loading& loading(void* user) { return *static_cast<Loading*>(user); }

OTF2_CallbackCode on_clock(void* user, std::uint64_t resolution, std::uint64_t, std::uint64_t,
                           std::uint64_t) {
  loading(user).d->ticks_per_second = resolution;
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_string(void* user, OTF2_StringRef self, const char* text) {
  loading(user).d->strings.emplace(self, text == nullptr ? "" : text);
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_node(void* user, OTF2_SystemTreeNodeRef self, OTF2_StringRef name, OTF2_StringRef,
                          OTF2_SystemTreeNodeRef) {
  loading(user).d->node_names.emplace(self, name);
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_process(void* user, OTF2_LocationGroupRef self, OTF2_StringRef name,
                             OTF2_LocationGroupType, OTF2_SystemTreeNodeRef node, OTF2_LocationGroupRef) {
  loading(user).d->processes.emplace(self, Definitions::Process{name, node});
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_location(void* user, OTF2_LocationRef self, OTF2_StringRef name, OTF2_LocationType type,
                              std::uint64_t events, OTF2_LocationGroupRef group) {
  Loading& l = loading(user);
  if (!l.d->locations.emplace(self, Location{name, group, type, events}).second)
    return l.known("location", self);
  l.d->location_order.push_back(self);
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_region(void* user, OTF2_RegionRef self, OTF2_StringRef name, OTF2_StringRef canonical,
                            OTF2_StringRef, OTF2_RegionRole, OTF2_Paradigm paradigm, OTF2_RegionFlag,
                            OTF2_StringRef, std::uint32_t, std::uint32_t) {
  Loading& l = loading(user);
  const Region r{name, canonical, paradigm == OTF2_PARADIGM_MPI, {}, l.regions++};
  return l.d->regions.emplace(self, r).second ? OTF2_CALLBACK_SUCCESS : l.known("region", self);
}
OTF2_CallbackCode on_group(void* user, OTF2_GroupRef self, OTF2_StringRef, OTF2_GroupType type,
                           OTF2_Paradigm paradigm, OTF2_GroupFlag flags, std::uint32_t n,
                           const std::uint64_t* members) {
  Loading& l = loading(user);
  if (type != OTF2_GROUP_TYPE_COMM_LOCATIONS && type != OTF2_GROUP_TYPE_COMM_GROUP &&
      type != OTF2_GROUP_TYPE_COMM_SELF)
    return OTF2_CALLBACK_SUCCESS;
  Definitions::Group g{type, paradigm, (flags & OTF2_GROUP_FLAG_GLOBAL_MEMBERS) != 0, {members, members + n}};
  if (!l.d->groups.emplace(self, std::move(g)).second) return l.known("group", self);
  l.d->group_order.push_back(self);
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_comm(void* user, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group,
                          OTF2_CommRef, OTF2_CommFlag) {
  Loading& l = loading(user);
  const CommDef c{name, group, CommKind::broken, nullptr, l.comms++};
  return l.d->comms.emplace(self, c).second ? OTF2_CALLBACK_SUCCESS : l.known("communicator", self);
}
OTF2_CallbackCode on_inter_comm(void* user, OTF2_CommRef self, OTF2_StringRef name, OTF2_GroupRef group,
                                OTF2_GroupRef, OTF2_CommRef, OTF2_CommFlag) {
  Loading& l = loading(user);
  const CommDef c{name, group, CommKind::inter, nullptr, l.comms++};
  return l.d->comms.emplace(self, c).second ? OTF2_CALLBACK_SUCCESS : l.known("communicator", self);
}

// --- events ---

Event& add(void* user, EventType type, OTF2_TimeStamp time, std::uint64_t number) {
  auto& out = *static_cast<std::vector<Event>*>(user);
  Event& e = out.emplace_back();
  e.type = type;
  e.time = time;
  e.number = number;
  return e;
}

// What every callback of an event begins with.
#define WEFT_EVENT \
  OTF2_LocationRef, OTF2_TimeStamp time, std::uint64_t number, void *user, OTF2_AttributeList *

OTF2_CallbackCode on_other(WEFT_EVENT) {
  add(user, EventType::other, time, number);
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_flush(WEFT_EVENT, OTF2_TimeStamp end) {
  add(user, EventType::buffer_flush, time, number).received = end;
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_measurement(WEFT_EVENT, OTF2_MeasurementMode mode) {
  add(user, mode == OTF2_MEASUREMENT_OFF ? EventType::measurement_off : EventType::measurement_on, time,
      number);
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_enter(WEFT_EVENT, OTF2_RegionRef region) {
  add(user, EventType::enter, time, number).region = region;
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_leave(WEFT_EVENT, OTF2_RegionRef region) {
  add(user, EventType::leave, time, number).region = region;
  return OTF2_CALLBACK_SUCCESS;
}
void set_message(Event& e, std::uint32_t peer, OTF2_CommRef comm, std::uint32_t tag, std::uint64_t bytes) {
  e.peer = peer;
  e.comm = comm;
  e.tag = tag;
  e.bytes = bytes;
}
template <EventType kType>
OTF2_CallbackCode on_message(WEFT_EVENT, std::uint32_t peer, OTF2_CommRef comm, std::uint32_t tag,
                             std::uint64_t bytes) {
  set_message(add(user, kType, time, number), peer, comm, tag, bytes);
  return OTF2_CALLBACK_SUCCESS;
}
template <EventType kType>
OTF2_CallbackCode on_request_message(WEFT_EVENT, std::uint32_t peer, OTF2_CommRef comm, std::uint32_t tag,
                                     std::uint64_t bytes, std::uint64_t request) {
  Event& e = add(user, kType, time, number);
  set_message(e, peer, comm, tag, bytes);
  e.request = request;
  return OTF2_CALLBACK_SUCCESS;
}
template <EventType kType>
OTF2_CallbackCode on_request(WEFT_EVENT, std::uint64_t request) {
  add(user, kType, time, number).request = request;
  return OTF2_CALLBACK_SUCCESS;
}
void set_collective(Event& e, OTF2_CollectiveOp op, OTF2_CommRef comm, std::uint32_t root, std::uint64_t sent,
                    std::uint64_t received) {
  e.op = op;
  e.comm = comm;
  e.peer = root;
  e.bytes = sent;
  e.received = received;
}
OTF2_CallbackCode on_collective(WEFT_EVENT, OTF2_CollectiveOp op, OTF2_CommRef comm, std::uint32_t root,
                                std::uint64_t sent, std::uint64_t received) {
  set_collective(add(user, EventType::collective_end, time, number), op, comm, root, sent, received);
  return OTF2_CALLBACK_SUCCESS;
}
OTF2_CallbackCode on_icollective(WEFT_EVENT, OTF2_CollectiveOp op, OTF2_CommRef comm, std::uint32_t root,
                                 std::uint64_t sent, std::uint64_t received, std::uint64_t request) {
  Event& e = add(user, EventType::icollective_complete, time, number);
  set_collective(e, op, comm, root, sent, received);
  e.request = request;
  return OTF2_CALLBACK_SUCCESS;
}
template <EventType kType>
OTF2_CallbackCode on_comm_event(WEFT_EVENT, OTF2_CommRef comm) {
  add(user, kType, time, number).comm = comm;
  return OTF2_CALLBACK_SUCCESS;
}

// The library goes on to the next event in silence where nobody asked for one: records without a callback count.
OTF2_EvtReaderCallbacks* event_callbacks() {
  OTF2_EvtReaderCallbacks* c = allocated(OTF2_EvtReaderCallbacks_New());
  OTF2_EvtReaderCallbacks_SetUnknownCallback(c, on_other);
  OTF2_EvtReaderCallbacks_SetBufferFlushCallback(c, on_flush);
  OTF2_EvtReaderCallbacks_SetMeasurementOnOffCallback(c, on_measurement);
  OTF2_EvtReaderCallbacks_SetEnterCallback(c, on_enter);
  OTF2_EvtReaderCallbacks_SetLeaveCallback(c, on_leave);
  OTF2_EvtReaderCallbacks_SetMpiSendCallback(c, on_message<EventType::send>);
  OTF2_EvtReaderCallbacks_SetMpiIsendCallback(c, on_request_message<EventType::isend>);
  OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(c, on_request<EventType::isend_complete>);
  OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(c, on_request<EventType::irecv_request>);
  OTF2_EvtReaderCallbacks_SetMpiRecvCallback(c, on_message<EventType::recv>);
  OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(c, on_request_message<EventType::irecv>);
  OTF2_EvtReaderCallbacks_SetMpiRequestTestCallback(c, on_request<EventType::request_test>);
  OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback(c, on_request<EventType::request_cancelled>);
  OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(c, on_collective);
  OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback(c,
                                                                  on_request<EventType::icollective_request>);
  OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback(c, on_icollective);
  OTF2_EvtReaderCallbacks_SetCommCreateCallback(c, on_comm_event<EventType::comm_create>);
  OTF2_EvtReaderCallbacks_SetCommDestroyCallback(c, on_comm_event<EventType::comm_destroy>);
  return c;
}
#undef WEFT_EVENT

}  // namespace

struct Archive::Library {
  OTF2_Reader* reader = nullptr;
  OTF2_EvtReaderCallbacks* callbacks = nullptr;
  ~Library() {
    if (callbacks != nullptr) OTF2_EvtReaderCallbacks_Delete(callbacks);
    if (reader != nullptr) OTF2_Reader_Close(reader);
  }
};

struct Archive::Source {
  std::uint64_t location = 0;
  std::uint64_t next = 1;  // number of the event that comes next
  OTF2_EvtReader* events = nullptr;
};

std::string find_anchor(const std::string& path) {
  std::error_code ec;
  if (!fs::is_directory(path, ec)) return path.ends_with(".otf2") ? path : std::string();
  if (const fs::path usual = fs::path(path) / "traces.otf2"; fs::is_regular_file(usual, ec))
    return usual.string();
  std::vector<std::string> found;
  for (const auto& e : fs::directory_iterator(path, ec))
    if (e.path().extension() == ".otf2" && e.is_regular_file(ec)) found.push_back(e.path().string());
  return found.size() == 1 ? found[0] : std::string();
}

Archive::Archive(std::string anchor, std::uint64_t buffer_bytes)
    : anchor_(std::move(anchor)),
      base_(anchor_.substr(0, anchor_.size() - std::string_view(".otf2").size())),
      buffer_bytes_(buffer_bytes),
      library_(std::make_unique<Library>()) {}

Archive::~Archive() = default;

Error Archive::failure(const std::string& where, std::string what, int code) const {
  return bad_input(where, std::move(what), OTF2_Error_GetDescription(static_cast<OTF2_ErrorCode>(code)),
                   "an archive of OTF2 2.0 to 3.x");
}

std::string Archive::event_path(std::uint64_t location) const {
  return fmt::format("{}/{}.evt", base_, location);
}

void silence_library(int* first) { OTF2_Error_RegisterCallback(silent, first); }

Result<std::unique_ptr<Archive>> Archive::open(const std::string& path, std::uint64_t buffer_bytes) {
  const std::string anchor = find_anchor(path);
  if (anchor.empty())
    return bad_input(path, "no OTF2 archive is here", {}, "a file NAME.otf2, or a directory with one");
  std::error_code ec;
  if (!fs::is_regular_file(anchor, ec)) return bad_input(anchor, "the anchor file of the archive is missing");
  silence_library();
  std::unique_ptr<Archive> a(new Archive(anchor, buffer_bytes));
  WEFT_ASSIGN(a->facts_, read_anchor(anchor));
  WEFT_TRY(a->open_library());
  WEFT_TRY(a->read_definitions());
  return a;
}

Result<void> Archive::open_library() {
  library_->reader = OTF2_Reader_Open(anchor_.c_str());
  if (library_->reader == nullptr)
    return bad_input(anchor_, "the anchor of the archive cannot be read", {},
                     "an archive of OTF2 2.0 to 3.x");
  OTF2_Reader* r = library_->reader;
  OTF2_Reader_SetSerialCollectiveCallbacks(r);
  library_->callbacks = event_callbacks();
  return {};
}

Result<void> Archive::read_definitions() {
  const std::string path = base_ + ".def";
  WEFT_ASSIGN(const bool there, has_plain(path));
  if (!there) return bad_input(path, "the definitions of the archive are missing");
  WEFT_TRY(check_definitions(path, true));
  OTF2_Reader* r = library_->reader;
  OTF2_GlobalDefReader* reader = OTF2_Reader_GetGlobalDefReader(r);
  if (reader == nullptr) return bad_input(path, "the definitions of the archive cannot be read");
  OTF2_GlobalDefReaderCallbacks* c = allocated(OTF2_GlobalDefReaderCallbacks_New());
  OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(c, on_clock);
  OTF2_GlobalDefReaderCallbacks_SetStringCallback(c, on_string);
  OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(c, on_node);
  OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(c, on_process);
  OTF2_GlobalDefReaderCallbacks_SetLocationCallback(c, on_location);
  OTF2_GlobalDefReaderCallbacks_SetRegionCallback(c, on_region);
  OTF2_GlobalDefReaderCallbacks_SetGroupCallback(c, on_group);
  OTF2_GlobalDefReaderCallbacks_SetCommCallback(c, on_comm);
  OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(c, on_inter_comm);
  Loading l{&definitions_, {}, 0, 0};
  OTF2_Reader_RegisterGlobalDefCallbacks(r, reader, c, &l);
  OTF2_GlobalDefReaderCallbacks_Delete(c);
  std::uint64_t read = 0;
  const OTF2_ErrorCode code = OTF2_Reader_ReadAllGlobalDefinitions(r, reader, &read);
  OTF2_Reader_CloseGlobalDefReader(r, reader);
  if (!l.twice.empty()) return bad_input(path, "a definition is there twice", l.twice, "each reference once");
  if (code != OTF2_SUCCESS) return failure(path, "the definitions of the archive are damaged", code);
  if (read != facts_.definitions)
    return bad_input(path, "the archive has another number of definitions", std::to_string(read),
                     std::to_string(facts_.definitions));
  if (definitions_.locations.size() != facts_.locations)
    return bad_input(path, "the archive has another number of locations",
                     std::to_string(definitions_.locations.size()), std::to_string(facts_.locations));
  return definitions_.finish(path);
}

Result<void> Archive::prepare(std::uint64_t location, std::int64_t rank) {
  const std::string path = event_path(location);
  WEFT_TRY(has_plain(path));  // one that is missing is told with the system's reason
  WEFT_ASSIGN(const EventCount count, count_events(path, facts_.chunk_bytes, rank));
  if (const std::uint64_t said = definitions_.locations.at(location).events; count.events != said)
    return bad_input(path, "the location has another number of events", std::to_string(count.events),
                     fmt::format("{}, as the archive defines it", said));
  events_[location] = count;
  OTF2_Reader* r = library_->reader;
  OTF2_Reader_SelectLocation(r, location);
  const std::string local = fmt::format("{}/{}.def", base_, location);
  WEFT_ASSIGN(const bool mapped, has_plain(local));
  if (!mapped) return {};
  WEFT_TRY(check_definitions(local, false));
  if (const OTF2_ErrorCode code = OTF2_Reader_OpenDefFiles(r); code != OTF2_SUCCESS)
    return failure(local, "the definitions of a location cannot be opened", code);
  OTF2_DefReader* reader = OTF2_Reader_GetDefReader(r, location);
  if (reader == nullptr) return bad_input(local, "the definitions of a location cannot be read");
  std::uint64_t read = 0;
  const OTF2_ErrorCode code = OTF2_Reader_ReadAllLocalDefinitions(r, reader, &read);
  OTF2_Reader_CloseDefReader(r, reader);
  OTF2_Reader_CloseDefFiles(r);
  if (code != OTF2_SUCCESS) return failure(local, "the definitions of a location are damaged", code);
  return {};
}

void Archive::close_oldest() {
  Source& s = open_.back();
  OTF2_Reader_CloseEvtReader(library_->reader, s.events);
  by_location_.erase(s.location);
  open_.pop_back();
}

Result<Archive::Source*> Archive::source(std::uint64_t location, std::int64_t rank) {
  if (const auto it = by_location_.find(location); it != by_location_.end()) {
    open_.splice(open_.begin(), open_, it->second);
    return &open_.front();
  }
  while (!open_.empty() && (open_.size() + 1) * 2 * facts_.chunk_bytes > buffer_bytes_) close_oldest();
  const std::string path = event_path(location);
  if (const OTF2_ErrorCode code = OTF2_Reader_OpenEvtFiles(library_->reader); code != OTF2_SUCCESS)
    return failure(path, "the events of a location cannot be opened", code);
  OTF2_EvtReader* events = OTF2_Reader_GetEvtReader(library_->reader, location);
  if (events == nullptr)
    return bad_input(path, rank < 0 ? "the events of a location cannot be read"
                                    : fmt::format("the events of rank {} cannot be read", rank));
  open_.push_front({location, 1, events});
  by_location_[location] = open_.begin();
  return &open_.front();
}

Result<void> Archive::read(std::uint64_t location, std::int64_t rank, std::uint64_t next, std::size_t most,
                           std::vector<Event>& out) {
  out.clear();
  const auto [events, known] = events_.at(location);
  if (next > events) return {};
  WEFT_ASSIGN(Source * s, source(location, rank));
  // The library finds a place in a file only right after it opened it.
  if (s->next != next && s->next != 1) {
    OTF2_Reader_CloseEvtReader(library_->reader, s->events);
    by_location_.erase(location);
    open_.pop_front();
    WEFT_ASSIGN(s, source(location, rank));
  }
  if (s->next != next) {
    if (const OTF2_ErrorCode code = OTF2_EvtReader_Seek(s->events, next); code != OTF2_SUCCESS)
      return failure(event_path(location), fmt::format("event {} cannot be found again", next), code);
    s->next = next;
  }
  OTF2_Reader_RegisterEvtCallbacks(library_->reader, s->events, library_->callbacks, &out);
  const std::uint64_t asked = std::min<std::uint64_t>(most, events - next + 1);
  std::uint64_t read = 0;
  const OTF2_ErrorCode code = OTF2_Reader_ReadLocalEvents(library_->reader, s->events, asked, &read);
  if (code != OTF2_SUCCESS || read != asked) {
    const std::string where = event_position(event_path(location), facts_.chunk_bytes, rank, next + read);
    return code != OTF2_SUCCESS ? failure(where, "the event is damaged", code)
                                : bad_input(where, "the events of the location end early",
                                            std::to_string(read), std::to_string(asked));
  }
  // A library that loses its way takes what it meets for records of later versions.
  if (const auto lost = std::ranges::find(out, EventType::other, &Event::type); known && lost != out.end())
    return bad_input(event_position(event_path(location), facts_.chunk_bytes, rank, lost->number),
                     "the OTF2 library cannot read the event", {},
                     "chunks whose first event has a time above 0 (OTF2 3.0.2)");
  s->next = next + asked;
  return {};
}

}  // namespace weft::traces::otf2
