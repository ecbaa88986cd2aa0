// SimGrid time-independent (TI) text -> operations. The format, action by action: docs/trace-format.md, "TI
// text".
//
// What the text does not say is resolved here: element counts become bytes, a wait finds its request slot,
// flops of a reduction become a compute operation after it. What it cannot say is noted in the header:
// communicators are lost (collectives are on the world), so are failed probes, and a test has no outcome (it
// is dropped; a wait counts, if there is none the end of the rank).
//
// Speed (HPL, 256 ranks, 1.43 million lines of 24 bytes, one core): the parser alone about 20 million lines a
// second by profile; with unpacking the archive and storing the compact blocks 9 million; import to a .weft
// file 4.9 million.
//
// Errors: kBadInput with FILE:LINE:COLUMN (ARCHIVE!MEMBER:LINE:COLUMN), kNotSupported for a receive of unknown size.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/files/input_file.hpp"
#include "core/source_pos.hpp"
#include "traces/formats.hpp"
#include "traces/formats/first_bytes.hpp"
#include "traces/formats/rank_text.hpp"
#include "traces/formats/ti/line.hpp"
#include "traces/formats/ti/parser.hpp"
#include "traces/memory_trace.hpp"
#include "traces/packed/walk_archive.hpp"
#include "traces/weft/format.hpp"

namespace weft::traces {
namespace {

// A trace is one of (rank_text.hpp):
//   a shared file   "0 init\n1 init\n0 send 1 5 800\n..."        every line begins with its rank
//   an index        "ti_files/rank-0.txt\nti_files/rank-1.txt\n"   line r names the file of rank r, but for # comments
//   files           one for each rank, in a directory, an archive or on the command line, in order of their numbers
// An index is told from the rest by its lines: the first is no action, and one is the name of a file that exists.

// The number of ranks of a shared file: the largest rank that begins a line, plus one. A rank without a line
// is fine, but beyond kFreeRanks there must be a line for each rank: a number alone must not cost memory.
Result<std::uint32_t> ranks_of_shared(const RankText& input) {
  std::uint64_t most = 0;
  SourcePos most_at{input.parts()[0].name, 0, 0};
  std::uint64_t lines = 0;  // that begin with a number
  bool at_start = true;     // of a line, blanks included
  std::uint64_t value = 0;
  bool digits = false;
  std::uint64_t line = 1, line_begin = 0, number_begin = 0, offset = 0;
  const auto end_number = [&] {
    if (digits) {
      if (value > most || lines == 0) {
        most = value;
        most_at.line = static_cast<std::uint32_t>(line);
        most_at.column = static_cast<std::uint32_t>(number_begin - line_begin + 1);
      }
      ++lines;
    }
    digits = false;
    at_start = false;
  };
  WEFT_TRY(input.read([&](std::size_t, std::string_view text, bool) -> Result<void> {
    for (const char c : text) {
      ++offset;
      if (c == '\n') {
        end_number();
        at_start = true;
        value = 0;
        ++line;
        line_begin = offset;
      } else if (at_start) {
        if (static_cast<unsigned char>(c - '0') < 10) {
          if (!digits) number_begin = offset - 1;
          digits = true;
          value = std::min<std::uint64_t>(value * 10 + static_cast<unsigned>(c - '0'), 1u << 31);
        } else if (!ti::is_blank(c) || digits) {
          end_number();
        }
      }
    }
    return {};
  }));
  end_number();
  if (lines == 0)
    return bad_input(input.parts()[0].name, "the trace holds no action", {}, "lines \"RANK ACTION ...\"");
  if (const std::uint64_t limit = std::max(format::kFreeRanks, lines); most >= limit)
    return bad_input(most_at.text(), "the trace has too many ranks for its lines",
                     fmt::format("{} ranks", most + 1), fmt::format("at most {}", limit));
  if (most >= format::kMaxRanks)
    return bad_input(most_at.text(), "the trace has too many ranks", std::to_string(most + 1),
                     fmt::format("at most {}", format::kMaxRanks));
  return static_cast<std::uint32_t>(most + 1);
}

}  // namespace

bool sniff_ti(const std::string& path, std::string_view first) {
  std::error_code ec;
  if (std::filesystem::is_directory(path, ec)) return true;
  if (looks_compressed_or_tar(first) || looks_like_ti_line(first)) return true;
  return looks_like_index(path, first);
}

std::vector<std::string> files_ti(const std::vector<std::string>& paths) {
  std::error_code ec;
  if (paths.size() == 1 && !std::filesystem::is_directory(paths[0], ec)) {
    // An archive is one file, whatever is in it.
    const auto head = first_bytes(paths[0]);
    if (!head || looks_compressed_or_tar(*head)) return {};
  }
  std::vector<std::string> out;
  if (const auto input = RankText::open(paths))
    for (const RankText::Part& p : input->parts()) out.push_back(p.path);
  return out;
}

Result<std::unique_ptr<TraceReader>> open_ti(const std::vector<std::string>& paths,
                                             const OpenOptions& /*options*/) {
  WEFT_ASSIGN(const RankText input, RankText::open(paths));
  TraceHeader header;
  header.recorder = "simgrid-ti";
  if (input.shared()) {
    WEFT_ASSIGN(header.ranks, ranks_of_shared(input));
  } else {
    header.ranks = static_cast<std::uint32_t>(input.parts().size());
  }
  if (header.ranks > format::kMaxRanks)
    return bad_input(input.parts()[0].name, "the trace has too many ranks", std::to_string(header.ranks),
                     fmt::format("at most {}", format::kMaxRanks));
  auto trace = std::make_unique<MemoryTrace>(std::move(header));
  ti::Parser parser(input, trace->header().ranks, *trace);
  WEFT_TRY(input.read(
      [&](std::size_t part, std::string_view text, bool last) { return parser.feed(part, text, last); }));
  parser.finish();
  if (parser.actions() == 0)
    return bad_input(paths[0], "the trace holds no action", {}, "lines \"RANK ACTION ...\"");
  return std::unique_ptr<TraceReader>(std::move(trace));
}

}  // namespace weft::traces
