// Replays what a reader accepted, for so many steps: what is legal to read must be safe to run.
#pragma once

#include "topology/platform/platform.hpp"
#include "traces/trace.hpp"

namespace weft::fuzz {

// On a small torus. Traces of many ranks or operations are left alone: their cost is what they say.
void replay_some(traces::TraceReader& trace);
// A ring of messages on the first hosts of `platform`.
void replay_ring(const topology::Platform& platform);

}  // namespace weft::fuzz
