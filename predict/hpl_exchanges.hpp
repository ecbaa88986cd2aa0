// Whether the pivot exchanges of a panel may be replayed as one operation (replay/series/exchange_series.hpp).
//
// A series times every message as if it were alone on the route of its pair. That is exact where nothing is shared: one
// process row, columns within a host (within a socket where sockets share links), a model without contention where routes
// are those of pairs. Elsewhere the messages of a round may meet on a link (a tapered tree, a torus, several ranks behind
// one port), or meet swaps and broadcasts, or each takes a route of its own (Valiant).
// Whether that matters is measured: a few short windows of panels are simulated both ways, without noise, and the
// series is taken only if neither the time nor any phase would differ by more than kSeriesTolerance of the time, nor the exchanges
// themselves by a third of that, and updates are at least half of it. The window that speaks for most panels goes first: where it says
// no, the trial ends. Where only chance does, it goes on with windows between them while that pays. Where a trial would cost as much as it saves, exchanges go message by message.
#pragma once

#include "predict/hpl_prediction.hpp"

namespace weft::predict {

inline constexpr double kSeriesTolerance = 0.0075;

// Panels after which a window has settled: those that the look-ahead has under way, and a few.
[[nodiscard]] std::int64_t default_warm_up(const hpl_gen::HplConfig& config);

// `planned`: panels that the prediction simulates afterwards. Errors: as predict_hpl.
[[nodiscard]] Result<ExchangeChoice> choose_exchanges(const hpl_gen::HplConfig& config,
                                                      const topology::Platform& platform,
                                                      const std::vector<HostId>& placement,
                                                      const PredictOptions& options, std::int64_t planned);

}  // namespace weft::predict
