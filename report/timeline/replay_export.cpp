#include "report/timeline/replay_export.hpp"

namespace weft::report {

const std::vector<traces::FormatName>& replay_exports() {
  static const std::vector<traces::FormatName> rows = {
#define WEFT_REPLAY_EXPORT(id, name, what) {name, what, true},
#include "report/timeline/replay_exports.def"
#undef WEFT_REPLAY_EXPORT
  };
  return rows;
}

Result<std::unique_ptr<ReplayExport>> make_replay_export(std::string_view format, std::string place) {
#define WEFT_REPLAY_EXPORT(id, name, what) \
  if (format == name) return replay_export_##id(std::move(place));
#include "report/timeline/replay_exports.def"
#undef WEFT_REPLAY_EXPORT
  return usage_error("unknown export format", std::string(format),
                     traces::expected_names(replay_exports(), format));
}

Result<void> ReplayFiles::open() {
  for (const std::string& place : places_) {
    WEFT_ASSIGN(AtomicFile file, AtomicFile::open(place));
    files_.push_back(std::move(file));
  }
  return {};
}

Result<void> ReplayFiles::write(const Replayed& run) {
  WEFT_TRY(write_files(run, files_));
  return commit_all(files_);
}

}  // namespace weft::report
