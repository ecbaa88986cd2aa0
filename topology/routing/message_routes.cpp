#include "topology/routing/message_routes.hpp"

namespace weft::topology {

bool MessageRoutes::choose(std::uint32_t m, HostId src, HostId dst) {
  if (m >= links_.size()) links_.resize(std::size_t{m} + 1);
  std::vector<LinkId>& links = links_[m];
  links.clear();
  if (!fabric_.routing().route_message(src, dst, chosen_++, load_, links)) {
    links.clear();
    return false;
  }
  for (const LinkId l : links) ++load_[l.index()];
  return true;
}

void MessageRoutes::give_back(std::uint32_t m) {
  if (m >= links_.size()) return;
  for (const LinkId l : links_[m]) --load_[l.index()];
  links_[m].clear();
}

}  // namespace weft::topology
