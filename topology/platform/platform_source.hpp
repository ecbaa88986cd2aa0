// PlatformSource: a platform as written (file, built-in or shorthand) with the position of every part, before
// anything is built. load_platform() = read_source() + apply_override() per --set + build_platform().
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topology/platform/params.hpp"
#include "topology/platform/platform.hpp"
#include "topology/platform/platform.pb.h"

namespace weft::topology {

struct PlatformSource {
  std::string name;
  std::string where;  // of the whole
  std::string file;   // that it was read from; empty: none
  proto::Platform message;
  std::string family;
  std::string family_where;
  Params params;  // of the family; also speed, ranks_per_host and node where given as keys
  Params node;    // what --set node.KEY=VALUE gave, and node.family
  std::map<std::string, std::string, std::less<>> field_where;  // dotted field -> position
  [[nodiscard]] std::string where_of(std::string_view field) const;
};

[[nodiscard]] Result<PlatformSource> read_source(std::string_view spec);
// "FAMILY:key=value,..."; a value that holds a comma stands in double quotes.
[[nodiscard]] Result<PlatformSource> parse_shorthand(std::string_view spec);
// `file` names the text in errors.
[[nodiscard]] Result<PlatformSource> parse_textproto(std::string_view file, std::string_view text);
// "key=value" (a topology key), "dotted.field=value" (a scalar field of platform.proto) or "node.KEY=VALUE" (a key of
// the PCIe tree under the hosts, or its family).
[[nodiscard]] Result<void> apply_override(PlatformSource& source, std::string_view setting);
// The name of what `key` sets: "topology.bw" is bw, host.speed and host.ranks are the keys speed and ranks_per_host.
[[nodiscard]] std::string_view setting_name(std::string_view key);
// kUsage if `setting` ("key=value") of --set is about `name`, which `flag` replaces on the platform: of a sweep every
// row would say another value than it ran with.
[[nodiscard]] Result<void> check_beside_flag(std::string_view setting, std::string_view name,
                                             std::string_view flag);
// The settings of that tree, from the key `node` or the field; nothing if there is none. Errors: not of the
// family pcie, or a file that says more than a tree and a speed.
[[nodiscard]] Result<std::optional<PlatformSource>> read_node(const PlatformSource& source);
[[nodiscard]] Result<Platform> build_platform(const PlatformSource& source);

}  // namespace weft::topology
