// In place of the other files of this folder where the OTF2 library was not there when Weft was built.
#include <filesystem>

#include "traces/exports/export.hpp"
#include "traces/formats/otf2/write/replayed.hpp"

namespace weft::traces {
namespace {

Error built_without() {
  return not_supported("OTF2, because this program was built without its library",
                       "a build with libopen-trace-format2-dev (docs/otf2.md)");
}

}  // namespace

bool sniff_otf2(const std::string& path, std::string_view first_bytes) {
  std::error_code ec;
  return path.ends_with(".otf2") || std::filesystem::is_regular_file(path + "/traces.otf2", ec) ||
         (first_bytes.size() > 6 && first_bytes[0] == '\x03' && first_bytes.substr(2, 4) == "OTF2");
}

std::vector<std::string> files_otf2(const std::vector<std::string>& /*paths*/) { return {}; }

Result<std::unique_ptr<TraceReader>> open_otf2(const std::vector<std::string>& paths,
                                               const OpenOptions& /*options*/) {
  Error e = built_without();
  e.where = paths.front();
  return e;
}

Result<void> export_otf2(TraceReader& /*trace*/, const std::string& /*path*/,
                         const ExportOptions& /*options*/) {
  return built_without();
}

Result<std::unique_ptr<ReplayedArchive>> open_replayed_otf2(const std::string& /*path*/) {
  return built_without();
}

}  // namespace weft::traces
