// What surrounds a part of the engine that is tested alone, wired as Simulation does it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "replay/agenda.hpp"
#include "replay/communicators.hpp"
#include "replay/engine.hpp"
#include "replay/kernel_time.hpp"
#include "replay/message_cost.hpp"
#include "replay/messages/matcher.hpp"
#include "replay/ranks/compute_times.hpp"
#include "replay/ranks/ranks.hpp"
#include "replay/why/cause_book.hpp"
#include "replay/why/hindsight.hpp"
#include "tests/support/hosts.hpp"
#include "tests/support/memory_trace.hpp"

namespace weft::replay {

// Ranks with a program each, and nobody who moves them on.
struct BareReplay {
  weft::testing::MemoryTrace trace;
  topology::Platform platform;
  MessageCost cost;
  Agenda agenda;
  Communicators comms;
  Ranks ranks;
  CauseBook causes;
  Hindsight hindsight;

  BareReplay(weft::testing::MemoryTrace t, topology::Platform p)
      : trace(std::move(t)),
        platform(std::move(p)),
        cost(platform.mpi),
        comms(trace.communicators()),
        ranks(trace),
        causes(ranks.count(), false),
        hindsight({}, cost, comms, ranks, causes, agenda) {}

  static topology::Platform load(const std::string& shorthand) {
    auto p = topology::load_platform(shorthand);
    EXPECT_TRUE(p) << (p ? "" : p.error().message());
    return std::move(p).value();
  }
};

// ... with messages between them, rank r on host r.
struct BareMessages : BareReplay {
  ReplayOptions options;
  std::vector<HostId> placement;
  Pool<Message> messages;
  Matcher matcher;
  ComputeTimes compute;

  BareMessages(weft::testing::MemoryTrace t, topology::Platform p)
      : BareReplay(std::move(t), std::move(p)),
        placement(weft::testing::first_hosts(ranks.count())),
        matcher(messages, ranks.count()),
        compute(*KernelClock::create(platform), placement, platform.fabric.rank_hosts(), options, ranks,
                agenda) {}
};

}  // namespace weft::replay
