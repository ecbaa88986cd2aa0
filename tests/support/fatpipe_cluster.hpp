// A cluster of SimGrid whose backbone is a FATPIPE, and what SimGrid 3.32 says of eight messages over it.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft::support {

// A routes file: 8 hosts with links of 1 GB/s, 1 us, each way over a backbone of 1 us that is a fatpipe.
inline std::string fatpipe_cluster(double backbone) {
  std::string text = fmt::format("L 16 backbone {} 1e-6 fatpipe\n", backbone);
  for (int h = 0; h < 8; ++h) text += fmt::format("L {0} up{0} 1e9 1e-6\nL {1} down{0} 1e9 1e-6\n", h, 8 + h);
  for (int s = 0; s < 8; ++s)
    for (int d = 0; d < 8; ++d)
      if (s != d) text += fmt::format("R {} {} {} 16 {}\n", s, d, s, 8 + d);
  return text;
}

// Messages that all begin at once, and when the hosts that receive have all of theirs, in seconds. Of smpirun, CM02 without
// factors, gamma and cross-traffic, network/optim Full: programs of isends, irecvs and one waitall, all eager, 16 bytes longer
// than they say.
struct FatpipeCase {
  struct Sent {
    std::uint32_t src, dst;
    std::int64_t bytes;
  };
  const char* name;
  double backbone;  // bytes/s
  std::vector<Sent> sent;
  std::vector<std::pair<std::uint32_t, double>> finish;
};

inline FatpipeCase eight_over_a_narrow_fatpipe() {
  constexpr std::int64_t kM = 1'000'000;
  return {"eight, shared ports and a narrow backbone",
          4e8,
          {{0, 4, kM},
           {0, 5, 2 * kM},
           {1, 5, 3 * kM},
           {2, 5, kM},
           {3, 6, 4 * kM},
           {6, 7, 5 * kM},
           {7, 0, 6 * kM},
           {7, 1, kM}},
          {{0, 0.01500304},
           {1, 0.00250304},
           {4, 0.00250304},
           {5, 0.008003048},
           {6, 0.01000304},
           {7, 0.01250304}}};
}

}  // namespace weft::support
