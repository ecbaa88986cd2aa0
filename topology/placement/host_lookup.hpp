// HostLookup: a host by its index or its name, as a user writes it. The name table is made on the first name.
#pragma once

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
  const Fabric& fabric_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
};

}  // namespace weft::topology
