// The oracle of recorded runs: configurations and, for each, what every rank sent, as counts and a hash.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hpl_gen/hpl_dat.hpp"
#include "tests/hpl_gen/message_lists.hpp"
#include "tests/support/checkout.hpp"

namespace weft::testing_hpl {

struct Configuration {
  std::string line;  // as in configurations.txt
  hpl_gen::HplConfig config;
  std::int64_t matrix_seed = 100;
};
[[nodiscard]] Configuration parse_configuration(const std::string& line);
// Where configurations.txt and its fellows are.
[[nodiscard]] inline std::string data_dir() { return support::source_dir() + "/tests/hpl_gen/data/"; }
// Lines of configurations.txt that are not comments.
[[nodiscard]] std::vector<std::string> read_lines(const std::string& path);

// One line for each rank that sends: "rank sends bytes receives hash". The hash covers each list of the rank in order
// of (destination, communicator): calls, tags, bytes; then what it receives, by (source, communicator).
[[nodiscard]] std::vector<std::string> fingerprint_lines(const AllLists& lists);

}  // namespace weft::testing_hpl
