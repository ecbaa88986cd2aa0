// Routes file as text: packed or plain, line by line, with the position of what is wrong.
#include "topology/graphs/routes_text.hpp"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>

#include "core/counted.hpp"
#include "core/files/input_file.hpp"
#include "core/files/zstd_memory.hpp"
#include "core/out_of_memory.hpp"
#include "core/quantity_text.hpp"
#include "topology/fabric_builder.hpp"
#include "topology/graphs/text_scanner.hpp"

namespace weft::topology {
namespace {

constexpr std::uint64_t kMaxTextBytes = 1ULL << 31;
constexpr std::int64_t kMaxHosts = 1LL << 22;

// Zeros behind the text: numbers are read four bytes at a time.
constexpr std::size_t kSlack = 4;

constexpr std::size_t kPieceBytes = std::size_t{1} << 20;

// A file of one frame that says how much it unpacks to, at once; empty if it is another or not whole.
std::string decompress_at_once(ZSTD_DCtx* ctx, const std::string& packed) {
  std::string out;
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size >= ZSTD_CONTENTSIZE_ERROR - 1 || size > std::min(kMaxTextBytes, most_unpacked(packed.size())) ||
      ZSTD_findFrameCompressedSize(packed.data(), packed.size()) != packed.size())
    return out;
  out.reserve(size + kSlack);
  out.resize(size);
  if (zstd_result(ZSTD_decompressDCtx(ctx, out.data(), out.size(), packed.data(), packed.size())) != size)
    out.clear();
  return out;
}

Result<std::string> decompress(const std::string& path, std::string packed) {
  constexpr std::string_view magic("\x28\xb5\x2f\xfd", 4);
  if (!std::string_view(packed).starts_with(magic)) return packed;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> ctx(allocated(ZSTD_createDCtx()), &ZSTD_freeDCtx);
  if (std::string out = decompress_at_once(ctx.get(), packed); !out.empty()) return out;
  // A window of 8 MiB, as every decoder has, or a larger one that the file's size explains.
  const int window = std::clamp(static_cast<int>(std::bit_width(64 * std::uint64_t{packed.size()})), 23, 27);
  ZSTD_DCtx_setParameter(ctx.get(), ZSTD_d_windowLogMax, window);
  // Pieces, which go one by one as they are joined: a string that grows is there twice.
  std::deque<std::string> pieces;
  std::uint64_t size = 0;
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::size_t left = 0;
  bool more = true;
  while (more) {
    if (pieces.empty() || pieces.back().size() == kPieceBytes) pieces.emplace_back().reserve(kPieceBytes);
    std::string& piece = pieces.back();
    const std::size_t at = piece.size(), before = in.pos;
    piece.resize(std::min(kPieceBytes, at + ZSTD_DStreamOutSize()));
    ZSTD_outBuffer o{piece.data() + at, piece.size() - at, 0};
    left = zstd_result(ZSTD_decompressStream(ctx.get(), &o, &in));
    if (ZSTD_isError(left) != 0)
      return bad_input(fmt::format("{}@byte {:#x}", path, before), "broken zstd data",
                       ZSTD_getErrorName(left), "a whole zstd file");
    more = in.pos < in.size || o.pos == o.size;
    piece.resize(at + o.pos);
    size += o.pos;
    if (size > std::min(kMaxTextBytes, most_unpacked(in.pos)))
      return bad_input(fmt::format("{}@byte {:#x}", path, before), "the file unpacks to too much",
                       fmt::format("{} bytes of {}", size, in.pos), std::string(kMostUnpacked));
  }
  if (left != 0)
    return bad_input(fmt::format("{}@byte {:#x}", path, packed.size()), "zstd data is cut off", {},
                     "a whole zstd file");
  std::string out;
  out.reserve(size + kSlack);
  for (; !pieces.empty(); pieces.pop_front()) out += pieces.front();
  return out;
}

// A field as a number that is finite and not below 0.
Result<double> number(std::string_view field, const TextScanner& in, std::string_view what) {
  double v = 0;
  const auto [p, ec] = std::from_chars(field.data(), field.data() + field.size(), v);
  if (field.empty() || ec != std::errc() || p != field.data() + field.size() || !std::isfinite(v) || v < 0)
    return bad_input(in.where(), fmt::format("{} of a link", what), std::string(field),
                     "a finite number, 0 or more");
  return v;
}

Result<double> bandwidth(std::string_view field, const TextScanner& in) {
  WEFT_ASSIGN(const double v, number(field, in, "bandwidth"));
  if (auto bounded = as_bandwidth(v, field, {}); !bounded) {
    bounded.error().where = in.where();
    return std::move(bounded.error());
  }
  return v;
}

Result<std::uint32_t> index(std::string_view field, const TextScanner& in, std::string_view what,
                            std::int64_t top) {
  std::int64_t v = -1;
  const auto [p, ec] = std::from_chars(field.data(), field.data() + field.size(), v);
  if (field.empty() || ec != std::errc() || p != field.data() + field.size() || v < 0 || v > top)
    return bad_input(in.where(), fmt::format("{} index", what), std::string(field),
                     fmt::format("a whole number from 0 to {}", top));
  return static_cast<std::uint32_t>(v);
}

Result<void> read_link(TextScanner& in, RoutesText& c) {
  WEFT_ASSIGN(const std::uint32_t i,
              index(in.next_field(), in, "link", static_cast<std::int64_t>(kMaxLinks) - 1));
  const std::uint32_t column = in.column();
  const auto at = [&] { return in.where(column); };
  const std::string_view name = in.next_field();
  if (name.empty())
    return bad_input(in.where(), "link without a name", {}, "L index name bandwidth_Bps latency_s");
  WEFT_ASSIGN(const double capacity, bandwidth(in.next_field(), in));
  WEFT_ASSIGN(const double latency, number(in.next_field(), in, "latency"));
  if (latency > 9e6)
    return bad_input(in.where(), "latency of a link", fmt::format("{}", latency), "at most 9e6 s");
  const std::string_view policy = in.next_field();  // SimGrid's
  const bool fatpipe = policy == kFatpipe || policy == "FATPIPE";
  // An index may run ahead of its line only as far as lines can follow: memory stays proportional to the
  // file.
  if (i >= c.links.size()) {
    if (i > c.links.size() + (1U << 20))
      return bad_input(at(), "link index leaves a gap", fmt::format("{}", i),
                       "indices 0, 1, 2, ... each once");
    c.links.resize(i + 1);
  }
  if (c.links[i].seen) return bad_input(at(), "link defined twice", fmt::format("{}", i), "each index once");
  c.links[i] = {std::string(name), capacity, from_seconds(latency), true, fatpipe};
  return {};
}

Result<void> read_route(TextScanner& in, RoutesText& c) {
  RoutesText::Route r{0, 0, in.line(), static_cast<std::uint32_t>(c.used.size()), 0};
  WEFT_ASSIGN(r.src, index(in.next_field(), in, "host", kMaxHosts - 1));
  WEFT_ASSIGN(r.dst, index(in.next_field(), in, "host", kMaxHosts - 1));
  c.hosts = std::max({c.hosts, r.src + 1, r.dst + 1});
  for (std::string_view field = in.next_field(); !field.empty(); field = in.next_field()) {
    WEFT_ASSIGN(const std::uint32_t l, index(field, in, "link", static_cast<std::int64_t>(kMaxLinks) - 1));
    c.used.push_back(l);
  }
  r.end = static_cast<std::uint32_t>(c.used.size());
  if (r.src == r.dst && r.begin != r.end)
    return bad_input(in.where(), "route of a host to itself", {}, "no links");
  if (r.src != r.dst && r.begin == r.end)
    return bad_input(in.where(), "route without links", {},
                     "R src dst link...; leave the line out if unreachable");
  c.routes.push_back(r);
  return {};
}

// A blank and a whole number of at most nine digits at `p`, which goes behind it. Most have three digits: as four bytes they are
// made one number without a loop.
inline bool plain_number(const char*& p, std::uint32_t& v) {
  if (*p != ' ') return false;
  ++p;
  std::uint32_t x = 0;
  std::memcpy(&x, p, sizeof x);
  x ^= 0x30303030;  // digits are 0 to 9
  const std::uint32_t others = ((x + 0x76767676) | x) & 0x80808080;
  if (others != 0) {
    const int bits = std::countr_zero(others) & ~7;
    if (bits == 0) return false;
    p += bits / 8;
    x <<= 32 - bits;
    x = (x * 10 + (x >> 8)) & 0x00ff00ff;
    v = (x * 100 + (x >> 16)) & 0xffff;
    return true;
  }
  constexpr std::ptrdiff_t kMostDigits = 9;
  const char* const first = p;
  for (v = 0; *p >= '0' && *p <= '9'; ++p) v = v * 10 + (static_cast<std::uint32_t>(*p) - '0');
  return p - first <= kMostDigits;
}

// Lines of routes as programs write them, from `at` on: R and whole numbers, one blank before each. Returns where the first
// line begins that is something else; read_route() may understand or refuse it. A text ends in a zero and has no other, so
// no number need look for its end.
const char* read_plain_routes(const char* at, std::uint32_t& line, RoutesText& c) {
  std::uint32_t hosts = c.hosts;
  while (*at == 'R') {
    const char* p = at + 1;
    RoutesText::Route r{0, 0, line + 1, static_cast<std::uint32_t>(c.used.size()), 0};
    bool plain = plain_number(p, r.src) && plain_number(p, r.dst) && r.src < kMaxHosts && r.dst < kMaxHosts &&
                 r.src != r.dst && *p == ' ';
    while (plain && *p == ' ') {
      std::uint32_t link = 0;
      plain = plain_number(p, link) && link < kMaxLinks;
      c.used.push_back(link);
    }
    if (!plain || (*p != '\n' && *p != '\0')) {
      c.used.resize(r.begin);
      break;
    }
    r.end = static_cast<std::uint32_t>(c.used.size());
    hosts = std::max(hosts, std::max(r.src, r.dst) + 1);
    c.routes.push_back(r);
    ++line;
    at = *p == '\n' ? p + 1 : p;
  }
  c.hosts = hosts;
  return at;
}

// Column of the k-th link field of a route's line, found again only for an error message.
std::string where_link(const std::string& path, std::string_view text, std::uint32_t line, std::uint32_t k) {
  TextScanner in(path, text);
  while (in.next_line() && in.line() < line) {
  }
  for (std::uint32_t i = 0; i < k + 4; ++i) in.next_field();
  return in.where();
}

// `text` has kSlack zeros behind it.
Result<RoutesText> parse(const std::string& path, std::string_view text) {
  RoutesText c;
  TextScanner in(path, text);
  while (true) {
    std::uint32_t line = in.line();
    const char* const at = read_plain_routes(in.rest().data(), line, c);
    in.pass_over(static_cast<std::size_t>(at - in.rest().data()), line - in.line());
    if (!in.next_line()) break;
    const std::string_view kind = in.next_field();
    if (kind == "L") {
      WEFT_TRY(read_link(in, c));
    } else if (kind == "R") {
      WEFT_TRY(read_route(in, c));
    } else {
      return bad_input(in.where(), "unknown line", std::string(kind.substr(0, 40)), "L or R");
    }
  }
  if (c.routes.empty())
    return bad_input(SourcePos{path, in.line() + 1, 1}.text(), "file has no routes", {}, "R src dst link...");
  // A route names two hosts: memory stays proportional to the file.
  if (const std::size_t most = 2 * c.routes.size() + (1U << 16); c.hosts > most) {
    const auto names_last = [&](const RoutesText::Route& r) { return std::max(r.src, r.dst) + 1 == c.hosts; };
    const RoutesText::Route& r = *std::ranges::find_if(c.routes, names_last);
    return bad_input(SourcePos{path, r.line, 1}.text(), "host index leaves gaps",
                     fmt::format("{} with {}", c.hosts - 1, counted(c.routes.size(), "route")),
                     "hosts 0, 1, 2, ... each in some route");
  }
  for (std::size_t i = 0; i < c.links.size(); ++i)
    if (!c.links[i].seen)
      return bad_input(path, "link is not defined", fmt::format("{}", i), "indices 0, 1, 2, ... each once");
  std::vector<std::uint32_t> last(c.links.size(), 0);  // line of the last route that used the link
  for (const RoutesText::Route& r : c.routes)
    for (std::uint32_t k = r.begin; k < r.end; ++k) {
      const std::uint32_t l = c.used[k];
      if (l >= c.links.size())
        return bad_input(where_link(path, text, r.line, k - r.begin), "route over an unknown link",
                         fmt::format("{}", l), fmt::format("a link from 0 to {}", c.links.size() - 1));
      if (last[l] == r.line)
        return bad_input(where_link(path, text, r.line, k - r.begin), "route uses a link twice",
                         fmt::format("{}", l), "each link once");
      last[l] = r.line;
    }
  const auto pair = [](const RoutesText::Route& r) { return std::uint64_t{r.src} << 32 | r.dst; };
  if (std::ranges::adjacent_find(c.routes, std::greater_equal(), pair) == c.routes.end()) return c;
  std::ranges::stable_sort(c.routes, {}, pair);
  for (std::size_t i = 1; i < c.routes.size(); ++i)
    if (c.routes[i - 1].src == c.routes[i].src && c.routes[i - 1].dst == c.routes[i].dst)
      return bad_input(SourcePos{path, c.routes[i].line, 1}.text(), "second route of a pair",
                       fmt::format("R {} {}", c.routes[i].src, c.routes[i].dst),
                       fmt::format("one line per pair (first in line {})", c.routes[i - 1].line));
  return c;
}

}  // namespace

Result<RoutesText> read_routes_text(const std::string& path, std::string bytes) {
  WEFT_ASSIGN(std::string unpacked, decompress(path, std::move(bytes)));
  WEFT_ASSIGN(std::string text, as_text(path, std::move(unpacked)));
  text.append(kSlack, '\0');
  return parse(path, std::string_view(text).substr(0, text.size() - kSlack));
}

}  // namespace weft::topology
