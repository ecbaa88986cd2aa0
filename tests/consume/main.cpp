#include <cstdio>

#include "core/quantity_text.hpp"
#ifdef CONSUME_REPLAY
#include "congestion/sharing_model.hpp"
#include "replay/engine.hpp"
#endif

// How long 1 MiB takes on a 100 Gbit/s link, by the library; and that the large libraries link.
int main() {
  const auto bytes = weft::parse_bytes("1MiB", "main");
  const auto rate = weft::parse_bandwidth("100Gbps", "main");
  if (!bytes || !rate) return 1;
  const weft::Duration d = weft::from_seconds(static_cast<double>(bytes->value()) / rate->value());
  std::printf("%lld ps\n", static_cast<long long>(d.count()));
#ifdef CONSUME_REPLAY
  const auto model = weft::congestion::make_sharing_model("no-such-model", {});
  if (model) return 1;
  std::printf("%s\n", model.error().message().c_str());
  auto* const replay = &weft::replay::replay;
  if (replay == nullptr) return 1;
#endif
  return d.count() == 83'886'080 ? 0 : 1;
}
