#include "replay/ranks/detours.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace weft::replay {

bool body_ran(const Rank& k, std::uint64_t hit) {
  return std::find(k.hits_done.begin(), k.hits_done.end(), hit) != k.hits_done.end();
}

std::optional<std::uint64_t> hit_of_missed_poll(const Rank& k, std::uint64_t pc, const traces::Op& op) {
  const auto list = k.program.list(pc, op);
  if (list.empty() || list[0] <= 0) return {};
  return pc + static_cast<std::uint64_t>(list[0]);
}

bool poll_is_over(const Rank& k, std::uint64_t pc, const traces::Op& op) {
  const auto hit = (op.flags & traces::kHit) != 0 ? pc : hit_of_missed_poll(k, pc, op);
  return hit && body_ran(k, *hit);
}

Result<Detour> take_detour(Rank& k, std::uint64_t hit) {
  WEFT_ASSIGN(const traces::Op* const at_hit, k.program.at(hit));
  const bool good = at_hit != nullptr && (at_hit->flags & traces::kHit) != 0;
  const auto body = good ? k.program.list(hit, *at_hit) : std::span<const std::int64_t>();
  if (body.size() < 2 || body[1] < 0 || hit + 1 + static_cast<std::uint64_t>(body[1]) > k.program.total())
    return Detour::kNoHit;
  if (body[1] == 0) return Detour::kEmpty;
  k.hits_done.push_back(hit);
  k.return_pc = k.pc + 1;
  k.pc = hit + 1;
  k.detour_end = k.pc + static_cast<std::uint64_t>(body[1]);
  k.in_detour = true;
  k.program.be_asked(true);
  return Detour::kTaken;
}

bool pass_body_that_ran(Rank& k, const traces::Op& op) {
  const auto done = std::find(k.hits_done.begin(), k.hits_done.end(), k.pc);
  if (done == k.hits_done.end()) return false;
  k.hits_done.erase(done);
  k.pc += 1 + static_cast<std::uint64_t>(k.program.list(k.pc, op)[1]);
  return true;
}

}  // namespace weft::replay
