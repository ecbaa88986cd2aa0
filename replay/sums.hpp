// What a replay's sums come to in its result; whoever made it.
#pragma once

#include <cstdint>
#include <string>

#include "network/network.hpp"
#include "replay/engine.hpp"
#include "replay/messages/traffic.hpp"
#include "replay/ranks/rank.hpp"
#include "replay/results.hpp"
#include "replay/why/cause_book.hpp"

namespace weft::replay {

// The times of rank r, which `finished` or not, `device` apart.
[[nodiscard]] RankTimes times_of_rank(const Rank& k, std::uint32_t r, const CauseBook& causes, bool finished);
// More bytes in all than a sum holds.
[[nodiscard]] bool counted_past_the_end(const Traffic& traffic, const network::Network& network);
// Costs of messages, and the fingerprint.
void tell_traffic(const Traffic& traffic, const CauseBook& causes, ReplayResult& out);
// Warnings of the trace and of the replay: whether noise was asked for where there is none, how many messages were longer than their
// receives. `out` has the deadlock and the unmatched messages.
void tell_warnings(const traces::TraceHeader& header, bool noise_without_any, std::uint64_t truncated,
                   ReplayResult& out);

}  // namespace weft::replay
