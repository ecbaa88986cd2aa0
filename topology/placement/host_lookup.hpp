// HostLookup: a host by its index or its name, as a user writes it. Where the name of some host is a number, numbers are
// names: an index would be another host. The name table is made on the first name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "topology/fabric.hpp"

namespace weft::topology {

class HostLookup {
 public:
  explicit HostLookup(const Fabric& fabric);  // the fabric must outlive it
  // Error (kBadInput at `where`) naming the legal range.
  [[nodiscard]] Result<HostId> find(std::string_view text, std::string where);

 private:
  bool numbers_are_names();
  const Fabric& fabric_;
  std::optional<bool> numbers_are_names_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
};

}  // namespace weft::topology
