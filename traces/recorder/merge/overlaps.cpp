#include "traces/recorder/merge/overlaps.hpp"

#include <algorithm>
#include <map>

#include "traces/op_rules.hpp"

namespace weft::recorder {
namespace {

using traces::OpKind;

// A call that has been entered, as far as is known.
struct Entered {
  std::vector<std::uint64_t> records;
  std::vector<std::pair<std::uint32_t, std::uint64_t>> collectives;
};

}  // namespace

void find_overlaps(std::size_t rank, const SpoolReader& spool, const std::vector<CommId>& comms,
                   std::uint64_t end, Overlaps& out) {
  std::map<std::uint16_t, Entered> entered;  // by thread; without those that are known to overlap
  std::vector<std::uint64_t>& calls = out.calls[rank];
  CollectiveNumbers numbers;
  std::uint64_t offset = spool.first();
  SpoolReader::Record record;
  while (offset < end && spool.next(offset, record) == SpoolReader::Step::kRecord) {
    const SpoolRecord& r = *record.fixed;
    if (r.kind == kLeft) {
      entered.erase(r.thread);
      continue;
    }
    if (r.kind == kCommDefine || (r.flags & kFailed) != 0 || r.comm >= comms.size()) continue;
    for (auto it = entered.begin(); it != entered.end();) {
      if (it->first == r.thread) {
        ++it;
        continue;
      }
      calls.insert(calls.end(), it->second.records.begin(), it->second.records.end());
      out.collectives.insert(it->second.collectives.begin(), it->second.collectives.end());
      it = entered.erase(it);
    }
    Entered& call = entered[r.thread];
    // The thread's call before had no return to tell, unless this is its other half.
    if ((r.flags & traces::kPairedRecv) == 0) call = {};
    call.records.push_back(record.offset);
    if (traces::is_collective(static_cast<OpKind>(r.kind - 1))) {
      const CommId comm = comms[r.comm];
      call.collectives.emplace_back(static_cast<std::uint32_t>(comm.index()), numbers.next(comm));
    }
  }
  std::sort(calls.begin(), calls.end());
}

}  // namespace weft::recorder
