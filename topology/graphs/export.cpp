#include "topology/graphs/export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/append_text.hpp"

namespace weft::topology {
namespace {

// True if the links taken backwards are the same links: every one belongs to a cable.
bool all_cables(const Fabric& f) {
  const LinkTable& t = f.links();
  const auto row = [&](std::uint32_t l, bool backwards) {
    const std::uint32_t a = t.from[l].index(), b = t.to[l].index();
    return std::tuple(backwards ? b : a, backwards ? a : b, t.capacity[l], t.latency[l].count(),
                      t.link_class[l]);
  };
  std::vector<std::uint32_t> forward;  // without those that their twin follows, in most fabrics all
  const auto links = static_cast<std::uint32_t>(f.wired_links());
  for (std::uint32_t l = 0; l < links; ++l) {
    if (t.from[l] == t.to[l]) return false;
    if (l + 1 < links && row(l, false) == row(l + 1, true))
      ++l;
    else
      forward.push_back(l);
  }
  std::vector<std::uint32_t> backward = forward;
  const auto sort_by_row = [&](std::vector<std::uint32_t>& of, bool backwards) {
    std::ranges::sort(of, {}, [&](std::uint32_t l) { return row(l, backwards); });
  };
  sort_by_row(forward, false);
  sort_by_row(backward, true);
  return std::ranges::equal(
      forward, backward, {}, [&](std::uint32_t l) { return row(l, false); },
      [&](std::uint32_t l) { return row(l, true); });
}

// Bytes of the UTF-8 character at the front of `text`; 0 if there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t n = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (n == 0 || n > text.size()) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if (n > 2) {  // no over-long forms, no surrogates, nothing beyond U+10FFFF, not U+FFFE and U+FFFF
    const unsigned char second = byte(1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second >= 0xa0) ||
        (first == 0xf0 && second < 0x90) || (first == 0xf4 && second >= 0x90) ||
        (first == 0xef && second == 0xbf && byte(2) >= 0xbe))
      return 0;
  }
  return n;
}

// XML 1.0 has no way to write most control characters and no bytes outside UTF-8: these come as \xNN.
std::string xml(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const std::size_t length = utf8_length(text.substr(i));
    if (length == 0 || static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      append(out, "\\x{:02x}", static_cast<unsigned char>(c));
      continue;
    }
    if (length > 1) {
      out += text.substr(i, length);
      i += length - 1;
      continue;
    }
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// In a routes file fields end at blanks and records at the end of the line: what links are called instead whose names have any,
// none as another.
std::map<std::uint32_t, std::string> names_without_blanks(const Fabric& f) {
  const auto blank = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
  std::map<std::uint32_t, std::string> changed;
  for (std::uint32_t l = 0; l < f.wired_links(); ++l)
    if (std::string name = f.link_name(LinkId(l)); std::ranges::any_of(name, blank)) {
      std::ranges::replace_if(name, blank, '_');
      changed.emplace(l, std::move(name));
    }
  if (changed.empty()) return changed;
  std::unordered_set<std::string> taken;
  for (std::uint32_t l = 0; l < f.wired_links(); ++l)
    if (!changed.contains(l)) taken.insert(f.link_name(LinkId(l)));
  std::unordered_map<std::string, std::uint32_t> alike;
  for (auto& [l, name] : changed) {
    const std::string wanted = name;
    for (std::uint32_t& k = alike[wanted]; !taken.insert(name).second;)
      name = fmt::format("{}#{}", wanted, ++k + 1);
  }
  return changed;
}

}  // namespace

void write_dot(const Fabric& f, const TextSink& out) {
  const bool cables = all_cables(f);
  const LinkTable& t = f.links();
  TextPieces text(out);
  text.add("{} weft {{\n", cables ? "graph" : "digraph");
  for (std::uint32_t v = 0; v < f.vertex_count(); ++v)
    text.add("  v{} [label={}, kind={}, shape={}];\n", v, in_quotes(f.vertex_name(VertexId(v))),
             v < f.host_count() ? "host" : "switch", v < f.host_count() ? "box" : "ellipse");
  for (std::size_t l = 0; l < f.wired_links(); ++l) {
    if (cables && t.from[l] > t.to[l]) continue;
    text.add("  v{} {} v{} [class={}, bandwidth_Bps=\"{}\", latency_s=\"{}\"];\n", t.from[l].index(),
             cables ? "--" : "->", t.to[l].index(), in_quotes(t.class_names[t.link_class[l]]), t.capacity[l],
             to_seconds(t.latency[l]));
  }
  text.add("}}\n");
  text.flush();
}

void write_graphml(const Fabric& f, const TextSink& out) {
  const bool cables = all_cables(f);
  const LinkTable& t = f.links();
  TextPieces text(out);
  text.add(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
      "  <key id=\"name\" for=\"node\" attr.name=\"name\" attr.type=\"string\"/>\n"
      "  <key id=\"kind\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"/>\n"
      "  <key id=\"class\" for=\"edge\" attr.name=\"class\" attr.type=\"string\"/>\n"
      "  <key id=\"bandwidth_Bps\" for=\"edge\" attr.name=\"bandwidth_Bps\" attr.type=\"double\"/>\n"
      "  <key id=\"latency_s\" for=\"edge\" attr.name=\"latency_s\" attr.type=\"double\"/>\n"
      "  <graph id=\"weft\" edgedefault=\"{}\">\n",
      cables ? "undirected" : "directed");
  for (std::uint32_t v = 0; v < f.vertex_count(); ++v)
    text.add("    <node id=\"v{}\"><data key=\"name\">{}</data><data key=\"kind\">{}</data></node>\n", v,
             xml(f.vertex_name(VertexId(v))), v < f.host_count() ? "host" : "switch");
  for (std::size_t l = 0; l < f.wired_links(); ++l) {
    if (cables && t.from[l] > t.to[l]) continue;
    text.add(
        "    <edge source=\"v{}\" target=\"v{}\"><data key=\"class\">{}</data><data "
        "key=\"bandwidth_Bps\">{}</data><data key=\"latency_s\">{}</data></edge>\n",
        t.from[l].index(), t.to[l].index(), xml(t.class_names[t.link_class[l]]), t.capacity[l],
        to_seconds(t.latency[l]));
  }
  text.add("  </graph>\n</graphml>\n");
  text.flush();
}

Result<void> write_routes(const Fabric& f, const TextSink& out, std::uint64_t max_pairs) {
  const std::uint64_t hosts = f.host_count();
  if (hosts * (hosts - 1) > max_pairs)
    return bad_input({}, "too many routes to write", fmt::format("{} pairs", hosts * (hosts - 1)),
                     fmt::format("at most {}", max_pairs));
  TextPieces text(out);
  const std::map<std::uint32_t, std::string> changed = names_without_blanks(f);
  for (std::uint32_t l = 0; l < f.wired_links(); ++l) {
    const auto other = changed.find(l);
    text.add("L {} {} {} {}{}\n", l, other == changed.end() ? f.link_name(LinkId(l)) : other->second,
             f.links().capacity[l], to_seconds(f.links().latency[l]),
             f.links().is_fatpipe(LinkId(l)) ? " fatpipe" : "");
  }
  std::vector<LinkId> links;
  std::uint32_t named = 0;  // hosts up to the highest in a route: a routes file has no others
  for (std::uint32_t s = 0; s < hosts; ++s)
    for (std::uint32_t d = 0; d < hosts; ++d) {
      links.clear();
      if (s == d || !f.routing().route(HostId(s), HostId(d), links)) continue;
      named = std::max({named, s + 1, d + 1});
      text.add("R {} {}", s, d);
      for (const LinkId l : links) text.add(" {}", l.index());
      text.add("\n");
    }
  if (named < hosts) text.add("R {0} {0}\n", hosts - 1);
  text.flush();
  return {};
}

namespace {

TextSink appended_to(std::string& text) {
  return [&text](std::string_view piece) { text += piece; };
}

}  // namespace

std::string to_dot(const Fabric& f) {
  std::string text;
  write_dot(f, appended_to(text));
  return text;
}

std::string to_graphml(const Fabric& f) {
  std::string text;
  write_graphml(f, appended_to(text));
  return text;
}

Result<std::string> to_routes(const Fabric& f, std::uint64_t max_pairs) {
  std::string text;
  WEFT_TRY(write_routes(f, appended_to(text), max_pairs));
  return text;
}

}  // namespace weft::topology
