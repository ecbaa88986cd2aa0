#include "report/timeline/replay_export.hpp"

namespace weft::report {
namespace {

class Otf2 final : public ReplayExport {
 public:
  explicit Otf2(std::string place) : place_(std::move(place)) {}
  [[nodiscard]] Shows shows() const override { return Shows::kEverything; }
  [[nodiscard]] std::vector<std::string> places() const override { return {place_}; }
  [[nodiscard]] Result<void> open() override {
    WEFT_ASSIGN(archive_, traces::open_replayed_otf2(place_));
    return {};
  }
  [[nodiscard]] Result<void> write(const Replayed& run) override {
    return archive_->write(run.trace, run.ops, run.warnings);
  }

 private:
  std::string place_;
  std::unique_ptr<traces::ReplayedArchive> archive_;
};

}  // namespace

std::unique_ptr<ReplayExport> replay_export_otf2(std::string place) {
  return std::make_unique<Otf2>(std::move(place));
}

}  // namespace weft::report
