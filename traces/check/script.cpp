#include "traces/check/script.hpp"

#include <algorithm>
#include <utility>

namespace weft::traces::doctor {

std::optional<Script::Option> Script::next(std::span<const Option> options) {
  const auto is_left = [](const Choice& c, const Option& o) {
    return std::ranges::find(c.asleep, o) == c.asleep.end();
  };
  if (at_ == choices_.size()) {
    Choice c;
    if (at_ > 0)
      for (const Option& o : choices_[at_ - 1].asleep)
        if (!o.same_receive(*choices_[at_ - 1].taken)) c.asleep.push_back(o);
    const auto left = std::ranges::count_if(options, [&](const Option& o) { return is_left(c, o); });
    if (left == 0) return std::nullopt;
    c.left = static_cast<std::size_t>(left) - 1;
    choices_.push_back(std::move(c));
  }
  Choice& c = choices_[at_++];
  for (auto o = options.rbegin(); !c.taken && o != options.rend(); ++o)
    if (is_left(c, *o)) c.taken = *o;
  return c.taken;
}

bool Script::advance() {
  while (!choices_.empty() && choices_.back().left == 0) choices_.pop_back();
  if (choices_.empty()) return false;
  Choice& c = choices_.back();
  c.asleep.push_back(*c.taken);
  c.taken.reset();
  --c.left;
  return true;
}

}  // namespace weft::traces::doctor
