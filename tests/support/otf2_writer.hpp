// OTF2 archives of tests, written with the OTF2 library: any events in any order, right or wrong.
//
//   Otf2Writer w(dir, 2);                       // two ranks, MPI_COMM_WORLD is communicator 0
//   w[0].enter("MPI_Send").send(1, 7, 100).leave();
//   w.close();                                  // dir/traces.otf2
#pragma once

#include <gtest/gtest.h>
#include <otf2/otf2.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace weft::testing {

class Otf2Writer {
 public:
  static constexpr std::uint32_t kNone = OTF2_UNDEFINED_UINT32;

  struct Options {
    std::uint64_t event_chunk = OTF2_CHUNK_SIZE_EVENTS_DEFAULT;
    std::uint64_t ticks_per_second = 1'000'000'000;
    bool mpi_locations = true;  // the group that names the ranks
  };

  // The events of one location. Each takes 10 ticks unless at() says when it is.
  class Rank {
   public:
    Rank& at(std::uint64_t time) {
      time_ = time - 10;
      return *this;
    }
    Rank& later(std::uint64_t ticks) {
      time_ += ticks;
      return *this;
    }
    Rank& enter(const std::string& region) {
      open_.push_back(w_->region(region));
      return event(OTF2_EvtWriter_Enter(out_, nullptr, tick(), open_.back()));
    }
    Rank& leave() {
      const auto r = open_.back();
      open_.pop_back();
      return event(OTF2_EvtWriter_Leave(out_, nullptr, tick(), r));
    }
    Rank& leave(const std::string& region) {
      return event(OTF2_EvtWriter_Leave(out_, nullptr, tick(), w_->region(region)));
    }
    Rank& enter_ref(std::uint32_t ref) { return event(OTF2_EvtWriter_Enter(out_, nullptr, tick(), ref)); }
    Rank& leave_ref(std::uint32_t ref) { return event(OTF2_EvtWriter_Leave(out_, nullptr, tick(), ref)); }
    Rank& send(std::uint32_t to, std::uint32_t tag, std::uint64_t bytes, std::uint32_t comm = 0) {
      return event(OTF2_EvtWriter_MpiSend(out_, nullptr, tick(), to, comm, tag, bytes));
    }
    Rank& recv(std::uint32_t from, std::uint32_t tag, std::uint64_t bytes, std::uint32_t comm = 0) {
      return event(OTF2_EvtWriter_MpiRecv(out_, nullptr, tick(), from, comm, tag, bytes));
    }
    Rank& isend(std::uint32_t to, std::uint32_t tag, std::uint64_t bytes, std::uint64_t request,
                std::uint32_t comm = 0) {
      return event(OTF2_EvtWriter_MpiIsend(out_, nullptr, tick(), to, comm, tag, bytes, request));
    }
    Rank& sent(std::uint64_t request) {
      return event(OTF2_EvtWriter_MpiIsendComplete(out_, nullptr, tick(), request));
    }
    Rank& irecv(std::uint64_t request) {
      return event(OTF2_EvtWriter_MpiIrecvRequest(out_, nullptr, tick(), request));
    }
    Rank& received(std::uint32_t from, std::uint32_t tag, std::uint64_t bytes, std::uint64_t request,
                   std::uint32_t comm = 0) {
      return event(OTF2_EvtWriter_MpiIrecv(out_, nullptr, tick(), from, comm, tag, bytes, request));
    }
    Rank& tested(std::uint64_t request) {
      return event(OTF2_EvtWriter_MpiRequestTest(out_, nullptr, tick(), request));
    }
    Rank& cancelled(std::uint64_t request) {
      return event(OTF2_EvtWriter_MpiRequestCancelled(out_, nullptr, tick(), request));
    }
    Rank& collective(OTF2_CollectiveOp op, std::uint64_t sent, std::uint64_t received,
                     std::uint32_t root = kNone, std::uint32_t comm = 0, std::uint32_t made = kNone) {
      event(OTF2_EvtWriter_MpiCollectiveBegin(out_, nullptr, tick()));
      if (made != kNone) event(OTF2_EvtWriter_CommCreate(out_, nullptr, tick(), made));
      return event(OTF2_EvtWriter_MpiCollectiveEnd(out_, nullptr, tick(), op, comm, root, sent, received));
    }
    Rank& icollective(std::uint64_t request) {
      return event(OTF2_EvtWriter_NonBlockingCollectiveRequest(out_, nullptr, tick(), request));
    }
    Rank& icollective_done(OTF2_CollectiveOp op, std::uint64_t sent, std::uint64_t received,
                           std::uint64_t request, std::uint32_t root = kNone, std::uint32_t comm = 0,
                           std::uint32_t made = kNone) {
      if (made != kNone) event(OTF2_EvtWriter_CommCreate(out_, nullptr, tick(), made));
      return event(OTF2_EvtWriter_NonBlockingCollectiveComplete(out_, nullptr, tick(), op, comm, root, sent,
                                                                received, request));
    }
    Rank& destroy(std::uint32_t comm) {
      return event(OTF2_EvtWriter_CommDestroy(out_, nullptr, tick(), comm));
    }
    Rank& flush(std::uint64_t ticks) {
      const auto start = tick();
      event(OTF2_EvtWriter_BufferFlush(out_, nullptr, start, start + ticks));
      time_ += ticks;
      return *this;
    }
    Rank& measurement(bool on) {
      return event(OTF2_EvtWriter_MeasurementOnOff(out_, nullptr, tick(),
                                                   on ? OTF2_MEASUREMENT_ON : OTF2_MEASUREMENT_OFF));
    }
    // A whole call: MPI_Send and so on.
    Rank& call(const std::string& region) { return enter(region).leave(); }

    // By default the clock of the archive and the numbers of regions and communicators hold.
    struct ClockOffset {
      std::uint64_t time;
      std::int64_t offset;
    };
    std::vector<ClockOffset> clock_offsets;
    std::map<std::uint64_t, std::uint64_t> region_map;  // local number -> global one
    std::int64_t events_more = 0;                       // the definition says so many more
    OTF2_LocationType type = OTF2_LOCATION_TYPE_CPU_THREAD;

   private:
    friend class Otf2Writer;
    std::uint64_t tick() { return time_ += 10; }
    Rank& event(OTF2_ErrorCode code) {
      EXPECT_EQ(code, OTF2_SUCCESS);
      return *this;
    }
    Otf2Writer* w_ = nullptr;
    OTF2_EvtWriter* out_ = nullptr;
    std::uint64_t time_ = 1000;
    std::vector<std::uint32_t> open_;
  };

  Otf2Writer(const std::string& dir, std::uint32_t ranks) : Otf2Writer(dir, ranks, Options()) {}
  Otf2Writer(const std::string& dir, std::uint32_t ranks, Options options, std::uint32_t more_locations = 0)
      : options_(options), mpi_ranks_(ranks) {
    archive_ =
        OTF2_Archive_Open(dir.c_str(), "traces", OTF2_FILEMODE_WRITE, options.event_chunk,
                          OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    EXPECT_NE(archive_, nullptr);
    static const OTF2_FlushCallbacks flush{
        [](void*, OTF2_FileType, OTF2_LocationRef, void*, bool) -> OTF2_FlushType { return OTF2_FLUSH; },
        nullptr};
    OTF2_Archive_SetFlushCallbacks(archive_, &flush, nullptr);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive_);
    OTF2_Archive_OpenEvtFiles(archive_);
    ranks_.resize(ranks + more_locations);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      ranks_[r].w_ = this;
      ranks_[r].out_ = OTF2_Archive_GetEvtWriter(archive_, r);
    }
    comm({}, "MPI_COMM_WORLD");
    for (std::uint32_t r = 0; r < ranks; ++r) comms_[0].members.push_back(r);
  }
  ~Otf2Writer() { close(); }
  Otf2Writer(const Otf2Writer&) = delete;
  Otf2Writer& operator=(const Otf2Writer&) = delete;

  Rank& operator[](std::size_t r) { return ranks_.at(r); }
  // A communicator of these ranks; `type` COMM_SELF for one of one rank each.
  std::uint32_t comm(std::vector<std::uint64_t> members, const std::string& name = {},
                     OTF2_GroupType type = OTF2_GROUP_TYPE_COMM_GROUP,
                     OTF2_Paradigm paradigm = OTF2_PARADIGM_MPI) {
    comms_.push_back({std::move(members), name, type, paradigm, false});
    return static_cast<std::uint32_t>(comms_.size() - 1);
  }
  std::uint32_t inter_comm() {
    comms_.push_back({{}, "inter", OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI, true});
    return static_cast<std::uint32_t>(comms_.size() - 1);
  }
  std::uint32_t region(const std::string& name) {
    return regions_.emplace(name, static_cast<std::uint32_t>(regions_.size())).first->second;
  }
  std::uint32_t world_members_more = 0;  // ranks in MPI's group that have no location

  void close() {
    if (archive_ == nullptr) return;
    std::vector<std::uint64_t> events;
    for (Rank& r : ranks_) {
      std::uint64_t n = 0;
      OTF2_EvtWriter_GetNumberOfEvents(r.out_, &n);
      events.push_back(n + static_cast<std::uint64_t>(r.events_more));
      OTF2_Archive_CloseEvtWriter(archive_, r.out_);
    }
    OTF2_Archive_CloseEvtFiles(archive_);
    local_definitions();
    global_definitions(events);
    OTF2_Archive_Close(archive_);
    archive_ = nullptr;
  }

 private:
  struct CommOf {
    std::vector<std::uint64_t> members;
    std::string name;
    OTF2_GroupType type;
    OTF2_Paradigm paradigm;
    bool inter;
  };
  void local_definitions() {
    OTF2_Archive_OpenDefFiles(archive_);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      OTF2_DefWriter* d = OTF2_Archive_GetDefWriter(archive_, r);
      for (const auto& c : ranks_[r].clock_offsets) OTF2_DefWriter_WriteClockOffset(d, c.time, c.offset, 0.0);
      if (!ranks_[r].region_map.empty()) {
        OTF2_IdMap* map = OTF2_IdMap_Create(OTF2_ID_MAP_SPARSE, ranks_[r].region_map.size());
        for (const auto& [local, global] : ranks_[r].region_map) OTF2_IdMap_AddIdPair(map, local, global);
        OTF2_DefWriter_WriteMappingTable(d, OTF2_MAPPING_REGION, map);
        OTF2_IdMap_Free(map);
      }
      OTF2_Archive_CloseDefWriter(archive_, d);
    }
    OTF2_Archive_CloseDefFiles(archive_);
  }
  std::uint32_t text(const std::string& s) {
    const auto [it, fresh] = strings_.emplace(s, static_cast<std::uint32_t>(strings_.size()));
    if (fresh) OTF2_GlobalDefWriter_WriteString(global_, it->second, s.c_str());
    return it->second;
  }
  void global_definitions(const std::vector<std::uint64_t>& events) {
    OTF2_GlobalDefWriter* g = global_ = OTF2_Archive_GetGlobalDefWriter(archive_);
    const std::uint32_t none = text("");
    OTF2_GlobalDefWriter_WriteClockProperties(g, options_.ticks_per_second, 0, 1u << 30,
                                              OTF2_UNDEFINED_TIMESTAMP);
    OTF2_GlobalDefWriter_WriteParadigm(g, OTF2_PARADIGM_MPI, text("MPI"), OTF2_PARADIGM_CLASS_PROCESS);
    for (const auto& [name, ref] : regions_)
      OTF2_GlobalDefWriter_WriteRegion(g, ref, text(name), text(name), none, OTF2_REGION_ROLE_FUNCTION,
                                       name.starts_with("MPI_") ? OTF2_PARADIGM_MPI : OTF2_PARADIGM_USER,
                                       OTF2_REGION_FLAG_NONE, none, 0, 0);
    OTF2_GlobalDefWriter_WriteSystemTreeNode(g, 0, text("node7"), text("node"),
                                             OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    const std::uint64_t ranks = mpi_ranks_;
    for (std::uint64_t r = 0; r < ranks; ++r)
      OTF2_GlobalDefWriter_WriteLocationGroup(
          g, static_cast<std::uint32_t>(r), text("rank " + std::to_string(r)),
          OTF2_LOCATION_GROUP_TYPE_PROCESS, 0, OTF2_UNDEFINED_LOCATION_GROUP);
    for (std::uint64_t l = 0; l < ranks_.size(); ++l)
      OTF2_GlobalDefWriter_WriteLocation(g, l, text("thread " + std::to_string(l)), ranks_[l].type, events[l],
                                         static_cast<std::uint32_t>(l < ranks ? l : 0));
    std::vector<std::uint64_t> all;
    for (std::uint64_t r = 0; r < ranks + world_members_more; ++r) all.push_back(r);
    std::uint32_t group = 0;
    if (options_.mpi_locations)
      OTF2_GlobalDefWriter_WriteGroup(g, group++, none, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                      OTF2_GROUP_FLAG_NONE, static_cast<std::uint32_t>(all.size()),
                                      all.data());
    for (std::uint32_t c = 0; c < comms_.size(); ++c) {
      const CommOf& comm = comms_[c];
      OTF2_GlobalDefWriter_WriteGroup(g, group, none, comm.type, comm.paradigm, OTF2_GROUP_FLAG_NONE,
                                      static_cast<std::uint32_t>(comm.members.size()), comm.members.data());
      if (comm.inter)
        OTF2_GlobalDefWriter_WriteInterComm(g, c, text(comm.name), group, group, OTF2_UNDEFINED_COMM,
                                            OTF2_COMM_FLAG_NONE);
      else
        OTF2_GlobalDefWriter_WriteComm(g, c, text(comm.name), group, OTF2_UNDEFINED_COMM,
                                       OTF2_COMM_FLAG_CREATE_DESTROY_EVENTS);
      ++group;
    }
    OTF2_Archive_CloseGlobalDefWriter(archive_, g);
  }

  Options options_;
  std::uint32_t mpi_ranks_;
  OTF2_Archive* archive_ = nullptr;
  OTF2_GlobalDefWriter* global_ = nullptr;
  std::vector<Rank> ranks_;
  std::vector<CommOf> comms_;
  std::map<std::string, std::uint32_t> regions_, strings_;
};

}  // namespace weft::testing
