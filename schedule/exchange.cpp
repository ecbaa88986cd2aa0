#include "schedule/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/check.hpp"
#include "core/files/csv.hpp"
#include "core/quantity_text.hpp"

namespace weft::schedule {
namespace {

constexpr std::uint32_t kMaxRanks = 4096;

}  // namespace

std::uint32_t Exchange::most_sends() const {
  std::uint32_t most = 0;
  for (std::uint32_t r = 0; r < ranks; ++r) most = std::max(most, sends(r));
  return most;
}

double Exchange::schedules() const {
  double product = 1;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    for (std::uint32_t k = 2; k <= sends(r); ++k) product *= k;
  }
  return product;
}

Exchange make_exchange(std::uint32_t ranks, std::vector<Message> messages) {
  Exchange e;
  e.ranks = ranks;
  std::stable_sort(messages.begin(), messages.end(),
                   [](const Message& a, const Message& b) { return a.src < b.src; });
  e.first.assign(ranks + 1, 0);
  for (const Message& m : messages) {
    WEFT_CHECK(m.src < ranks && m.dst < ranks, "a message of a rank that is not there");
    ++e.first[m.src + 1];
  }
  for (std::uint32_t r = 0; r < ranks; ++r) e.first[r + 1] += e.first[r];
  e.messages = std::move(messages);
  return e;
}

Result<Grid> parse_grid(std::string_view text, std::string_view where) {
  const std::string expected = "1 to 3 numbers from 1, joined by x (4x2, 2x2x2), at most 4096 ranks together";
  Grid grid;
  grid.dimensions = 0;
  std::uint64_t ranks = 1;
  std::string_view rest = text;
  while (true) {
    const std::size_t end = std::min(rest.find('x'), rest.size());
    auto n = parse_integer(rest.substr(0, end), 1, kMaxRanks, where);
    if (!n || grid.dimensions == 3)
      return bad_input(std::string(where), "no grid", std::string(text), expected);
    grid.size[grid.dimensions++] = static_cast<std::uint32_t>(*n);
    ranks *= static_cast<std::uint64_t>(*n);
    if (ranks > kMaxRanks) return bad_input(std::string(where), "no grid", std::string(text), expected);
    if (end == rest.size()) return grid;
    rest.remove_prefix(end + 1);
  }
}

Exchange halo_exchange(const Grid& grid) {
  const auto [nx, ny, nz] = grid.size;
  // Faces by dimension, low side first; then edges and corners by (dz, dy, dx).
  std::vector<std::array<int, 3>> directions;
  for (std::uint32_t d = 0; d < grid.dimensions; ++d) {
    for (int side : {-1, 1}) {
      std::array<int, 3> v{};
      v[d] = side;
      directions.push_back(v);
    }
  }
  if (grid.diagonals) {
    for (int dz = -1; dz <= 1; ++dz) {
      for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
          const bool beyond = (dy != 0 && grid.dimensions < 2) || (dz != 0 && grid.dimensions < 3);
          if (!beyond && std::abs(dx) + std::abs(dy) + std::abs(dz) > 1) directions.push_back({dx, dy, dz});
        }
      }
    }
  }
  std::vector<Message> messages;
  const std::uint32_t ranks = nx * ny * nz;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    const std::array<std::uint32_t, 3> at{r % nx, r / nx % ny, r / (nx * ny)};
    for (const auto& v : directions) {
      std::array<std::uint32_t, 3> to = at;
      bool inside = true;
      int axes = 0;
      std::size_t axis = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        if (v[d] == 0) continue;
        ++axes;
        axis = d;
        const std::int64_t n = grid.size[d];
        const std::int64_t x = static_cast<std::int64_t>(at[d]) + v[d];
        inside = inside && n > 1 && (grid.periodic || (x >= 0 && x < n));
        to[d] = static_cast<std::uint32_t>((x + n) % n);
      }
      if (!inside) continue;
      const Bytes bytes = axes == 1 ? grid.face[axis] : axes == 2 ? grid.edge : grid.corner;
      messages.push_back({r, to[0] + nx * (to[1] + ny * to[2]), bytes});
    }
  }
  return make_exchange(ranks, std::move(messages));
}

Result<Exchange> parse_pattern(std::string_view text, std::string_view file) {
  CsvReader csv(file, text);
  const auto at = [&](std::uint32_t column) { return csv.where(column); };
  int src = -1;
  int dst = -1;
  int size = -1;
  bool with_unit = false;
  std::size_t columns = 0;
  std::vector<Message> messages;
  std::uint32_t ranks = 0;
  while (true) {
    WEFT_ASSIGN(const bool row, csv.next_row());
    if (!row) break;
    const auto cells = csv.cells();
    if (columns == 0) {
      columns = cells.size();
      for (int i = 0; i < static_cast<int>(columns); ++i) {
        const CsvCell& c = cells[i];
        int* target = c.text == "src"                            ? &src
                      : c.text == "dst"                          ? &dst
                      : c.text == "bytes" || c.text == "bytes_B" ? &size
                                                                 : nullptr;
        if (target == nullptr || *target >= 0)
          return bad_input(at(c.column), target == nullptr ? "unknown column" : "a column twice", c.text,
                           "src, dst and bytes (64KiB) or bytes_B (65536)");
        *target = i;
        if (c.text == "bytes") with_unit = true;
      }
      if (src < 0 || dst < 0 || size < 0)
        return bad_input(at(1), "a column is missing", std::string(csv.line_text()),
                         "src, dst and bytes or bytes_B");
      continue;
    }
    if (cells.size() != columns)
      return bad_input(at(1), "wrong number of cells", std::to_string(cells.size()), std::to_string(columns));
    Message m;
    WEFT_ASSIGN(const std::int64_t s,
                parse_integer(cells[src].text, 0, kMaxRanks - 1, at(cells[src].column)));
    WEFT_ASSIGN(const std::int64_t d,
                parse_integer(cells[dst].text, 0, kMaxRanks - 1, at(cells[dst].column)));
    if (s == d)
      return bad_input(at(cells[dst].column), "a rank that sends to itself", cells[dst].text, "another rank");
    m.src = static_cast<std::uint32_t>(s);
    m.dst = static_cast<std::uint32_t>(d);
    const std::string where = at(cells[size].column);
    if (with_unit) {
      WEFT_ASSIGN(m.bytes, parse_bytes(cells[size].text, where));
    } else {
      WEFT_ASSIGN(const std::int64_t bytes, parse_integer(cells[size].text, 0, INT64_MAX, where));
      m.bytes = Bytes(bytes);
    }
    ranks = std::max({ranks, m.src + 1, m.dst + 1});
    messages.push_back(m);
  }
  if (messages.empty())
    return bad_input(at(1), "no message in the pattern", "",
                     "a header line src,dst,bytes and a row per message");
  return make_exchange(ranks, std::move(messages));
}

}  // namespace weft::schedule
