#include "topology/platform/platform_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>

#include "core/files/input_file.hpp"
#include "core/source_pos.hpp"
#include "core/suggest.hpp"
#include "topology/platform/catalogue.hpp"
#include "topology/registry.hpp"

namespace weft::topology {
namespace {

namespace pb = google::protobuf;

// What PLATFORM may be; the built-in and the family that `spec` could be a slip of come last.
std::string list_of_names(std::string_view spec) {
  std::vector<std::string_view> built_in, shorthand;
  for (const CatalogueEntry& e : catalogue()) built_in.push_back(e.name);
  for (const Family& f : families())
    if (f.build != nullptr) shorthand.push_back(f.name);
  std::string text = fmt::format(
      "a .textproto, .dot or .graphml file, a SimGrid .xml file, a built-in name ({}) or "
      "FAMILY:key=value,... with FAMILY one of "
      "{}",
      fmt::join(built_in, ", "), fmt::join(shorthand, ", "));
  std::vector<std::string_view> all = built_in;
  if (spec.find(':') != std::string_view::npos) all.clear();
  all.insert(all.end(), shorthand.begin(), shorthand.end());
  return text + did_you_mean(spec.substr(0, spec.find(':')), all);
}

// Splits "key=value"; nullopt without '=' or with an empty key.
std::optional<std::pair<std::string_view, std::string_view>> key_value(std::string_view text) {
  const std::size_t at = text.find('=');
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

// The text between `open` and the quote that ends it.
std::string_view quoted_after(std::string_view text, std::string_view open) {
  const std::size_t at = text.find(open);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + open.size());
  return text.substr(0, text.find('"'));
}

// What the parser says of a file, in the words of platforms. `before`: of the line, up to where it stopped; `rest`: from there.
Error explained(const std::string& where, const std::string& message, std::string_view before,
                std::string_view rest) {
  const std::string_view type = quoted_after(message, "Message type \""),
                         field = quoted_after(message, "named \"");
  const pb::Descriptor* of =
      type.empty() ? nullptr
                   : proto::Platform::descriptor()->file()->pool()->FindMessageTypeByName(std::string(type));
  if (of != nullptr && !field.empty()) {
    std::vector<std::string> names;
    names.reserve(static_cast<std::size_t>(of->field_count()));
    for (int i = 0; i < of->field_count(); ++i) names.push_back(of->field(i)->name());
    std::string expected = one_of(field, names);
    if (of == proto::Topology::descriptor())
      expected += fmt::format("; a key of the family is a set: \"{}=...\"", field);
    return bad_input(where, fmt::format("{} has no such field", of->name()), std::string(field), expected);
  }
  // A value without quotes: "1Gflops" is cut behind its number, "crossbar" and 5 are no strings.
  if (message.starts_with("Need space between number") || message.starts_with("Expected string, got: ")) {
    const std::size_t colon = before.rfind(':');
    std::string_view value = before.substr(colon == std::string_view::npos ? before.size() : colon + 1);
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    const std::string text =
        std::string(value) + std::string(rest.substr(0, rest.find_first_of(" \t,;}#\r\n")));
    std::string_view name = before.substr(0, colon == std::string_view::npos ? 0 : colon);
    name.remove_prefix(std::min(name.find_last_of(" \t{,;") + 1, name.size()));
    return bad_input(where, "a value without quotes", text,
                     fmt::format("{}: \"{}\"", name.empty() ? std::string_view("name") : name, text));
  }
  if (message.starts_with("Expected integer"))
    return bad_input(where, message, {}, "a whole number, without quotes");
  return bad_input(where, message, {}, "fields as in topology { family: \"crossbar\" set: \"n=4\" }");
}

// Keeps the first error of the parser, with its position.
class FirstError final : public pb::io::ErrorCollector {
 public:
  FirstError(std::string_view file, std::string_view text) : file_(file), text_(text) {}
  void AddError(int line, pb::io::ColumnNumber column, const std::string& message) override {
    if (error) return;
    std::string_view rest = text_;
    for (int i = 0; i < line; ++i) {
      const std::size_t end = rest.find('\n');
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
    rest = rest.substr(0, rest.find('\n'));
    // The parser counts a tab as up to the next eighth column.
    std::size_t at = 0;
    for (int reached = 0; at < rest.size() && reached < column; ++at)
      reached = rest[at] == '\t' ? (reached / 8 + 1) * 8 : reached + 1;
    // Line -1: an error about the whole message.
    error = explained(SourcePos{std::string(file_), static_cast<std::uint32_t>(line + 1),
                                static_cast<std::uint32_t>(column + 1)}
                          .text(),
                      message, rest.substr(0, at), rest.substr(at));
  }
  void AddWarning(int, pb::io::ColumnNumber, const std::string&) override {}
  std::optional<Error> error;

 private:
  std::string_view file_, text_;
};

void collect_positions(const pb::Message& m, const pb::TextFormat::ParseInfoTree& tree,
                       const std::string& prefix, std::string_view file,
                       std::map<std::string, std::string, std::less<>>& out) {
  std::vector<const pb::FieldDescriptor*> fields;
  m.GetReflection()->ListFields(m, &fields);
  for (const pb::FieldDescriptor* f : fields) {
    const int n = f->is_repeated() ? m.GetReflection()->FieldSize(m, f) : 1;
    for (int i = 0; i < n; ++i) {
      const int index = f->is_repeated() ? i : -1;
      const auto at = tree.GetLocation(f, index);
      const std::string field =
          prefix + f->name() + (f->is_repeated() ? fmt::format("[{}]", i) : std::string());
      out.emplace(field, SourcePos{std::string(file), static_cast<std::uint32_t>(at.line + 1),
                                   static_cast<std::uint32_t>(at.column + 1)}
                             .text());
      if (f->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
      const pb::TextFormat::ParseInfoTree* sub = tree.GetTreeForNested(f, index);
      const pb::Message& child = f->is_repeated() ? m.GetReflection()->GetRepeatedMessage(m, f, i)
                                                  : m.GetReflection()->GetMessage(m, f);
      if (sub != nullptr) collect_positions(child, *sub, field + ".", file, out);
    }
  }
}

std::vector<std::string> scalar_fields(const pb::Descriptor& d, const std::string& prefix) {
  std::vector<std::string> out;
  for (int i = 0; i < d.field_count(); ++i) {
    const pb::FieldDescriptor& f = *d.field(i);
    if (f.is_repeated()) continue;
    if (f.cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
      for (std::string& s : scalar_fields(*f.message_type(), prefix + f.name() + "."))
        out.push_back(std::move(s));
    } else {
      out.push_back(prefix + f.name());
    }
  }
  return out;
}

Result<void> set_field(proto::Platform& platform, std::string_view path, std::string_view value,
                       const std::string& where) {
  pb::Message* m = &platform;
  const auto parts = split(path, '.');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const pb::FieldDescriptor* f = m->GetDescriptor()->FindFieldByName(std::string(parts[i]));
    const bool last = i + 1 == parts.size();
    if (f == nullptr || f->is_repeated() || last == (f->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE))
      return bad_input(where, "platform has no such field", std::string(path),
                       fmt::format("a key of the topology, or {}",
                                   one_of(path, scalar_fields(*platform.GetDescriptor(), ""))));
    if (!last) {
      m = m->GetReflection()->MutableMessage(m, f);
    } else if (f->cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING) {
      m->GetReflection()->SetString(m, f, std::string(value));
    } else {
      std::uint32_t v = 0;
      const auto [p, ec] = std::from_chars(value.data(), value.data() + value.size(), v);
      if (ec != std::errc() || p != value.data() + value.size())
        return bad_input(where, "not a whole number", std::string(value), "a whole number");
      m->GetReflection()->SetUInt32(m, f, v);
    }
  }
  return {};
}

bool is_file(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && !S_ISDIR(st.st_mode);
}

}  // namespace

std::string PlatformSource::where_of(std::string_view field) const {
  const auto at = field_where.find(field);
  return at == field_where.end() ? where : at->second;
}

Result<PlatformSource> parse_shorthand(std::string_view spec) {
  const std::size_t colon = spec.find(':');
  PlatformSource s;
  s.name = spec;
  s.where = fmt::format("platform {}", spec);
  s.family = spec.substr(0, colon);
  s.family_where = s.where;
  s.params = Params(s.where);
  if (colon == std::string_view::npos) return s;
  std::size_t at = colon + 1;
  while (at < spec.size()) {
    const std::string where = fmt::format("{}:1:{}", s.where, at + 1);
    std::size_t end = at;
    bool quoted = false;
    std::string item;
    for (; end < spec.size() && (quoted || spec[end] != ','); ++end) {
      if (spec[end] == '"')
        quoted = !quoted;
      else
        item += spec[end];
    }
    if (quoted) return bad_input(where, "quote is not closed", std::string(spec.substr(at)), "key=\"value\"");
    const auto kv = key_value(item);
    if (!kv) return bad_input(where, "setting without a key", item, "key=value");
    if (s.params.has(kv->first))
      return bad_input(where, "key given twice", std::string(kv->first), "each key once");
    s.params.set(std::string(kv->first), std::string(kv->second), where);
    if (end + 1 == spec.size())
      return bad_input(fmt::format("{}:1:{}", s.where, end + 1), "comma at the end", {}, "key=value");
    at = end + 1;
  }
  return s;
}

Result<PlatformSource> parse_textproto(std::string_view file, std::string_view text) {
  PlatformSource s;
  s.where = file;
  FirstError errors(file, text);
  pb::TextFormat::ParseInfoTree tree;
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  parser.WriteLocationsTo(&tree);
  parser.SetRecursionLimit(32);
  const bool ok = parser.ParseFromString(std::string(text), &s.message);
  if (errors.error) return std::move(*errors.error);
  if (!ok) return bad_input(std::string(file), "not a platform", {}, "topology { ... } and other fields");
  collect_positions(s.message, tree, "", file, s.field_where);
  if (!s.message.has_topology() || !s.message.topology().has_family())
    return bad_input(std::string(file), "platform without topology { family: ... }", {}, "a topology family");
  s.name = s.message.has_name() ? s.message.name() : std::filesystem::path(file).stem().string();
  s.family = s.message.topology().family();
  s.family_where = s.where_of("topology.family");
  s.params = Params(s.where_of("topology"));
  for (int i = 0; i < s.message.topology().set_size(); ++i) {
    const std::string where = s.where_of(fmt::format("topology.set[{}]", i));
    const auto kv = key_value(s.message.topology().set(i));
    if (!kv) return bad_input(where, "setting without a key", s.message.topology().set(i), "key=value");
    s.params.set(std::string(kv->first), std::string(kv->second), where);
  }
  return s;
}

Result<PlatformSource> read_source(std::string_view spec) {
  const std::string path(spec);
  for (const CatalogueEntry& e : catalogue())
    if (e.name == catalogue_name(spec))
      return parse_textproto(fmt::format("built-in {}.textproto", e.name), e.text);
  const std::string_view head = spec.substr(0, spec.find(':'));
  if (is_family(head)) return parse_shorthand(spec);
  // "fattree:m=4,bw=1GB/s": the family is what is wrong, and the slash makes it no path.
  const bool shorthand = head.size() < spec.size() && spec.find('=', head.size()) != std::string_view::npos;
  const bool looks_like_file = is_file(path) || spec.ends_with(".textproto") || spec.ends_with(".pbtxt") ||
                               (!shorthand && spec.find('/') != std::string_view::npos);
  // A graph, or a platform of another simulator, is not a description of a platform, but a family makes one of it.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kOthers = {
      {{".dot", "file"}, {".gv", "file"}, {".graphml", "file"}, {".xml", "simgrid"}}};
  for (const auto& [ending, family] : kOthers)
    if (spec.ends_with(ending) && !shorthand) {
      PlatformSource s;
      s.name = spec;
      s.where = fmt::format("platform {}", spec);
      s.family = family;
      s.family_where = s.where;
      s.params = Params(s.where);
      s.params.set("path", path, s.where);
      return s;
    }
  if (looks_like_file) {
    WEFT_ASSIGN(const std::string text, read_text(path, 1ULL << 26));
    auto source = parse_textproto(path, text);
    if (source) source->file = path;
    return source;
  }
  return bad_input({}, shorthand ? "unknown topology" : "unknown platform",
                   shorthand ? std::string(head) : path, list_of_names(spec));
}

namespace {

// Under a host a platform is a tree and the speed of its GPUs: what its file says of anything else is refused, as it
// would not count.
Result<void> check_node_fields(const PlatformSource& node) {
  const proto::Platform& all = node.message;
  for (const auto& [name, of] :
       {std::pair<std::string_view, const pb::Message*>{"host", &all.host()}, {"mpi", &all.mpi()}}) {
    std::vector<const pb::FieldDescriptor*> fields;
    of->GetReflection()->ListFields(*of, &fields);
    for (const pb::FieldDescriptor* f : fields) {
      const std::string path = fmt::format("{}.{}", name, f->name());
      if (path == "host.speed") continue;
      return bad_input(node.where_of(f->is_repeated() ? path + "[0]" : path),
                       "a field of the network's platform, not of its nodes", path,
                       fmt::format("host.speed, or {} in the platform that has such nodes", path));
    }
  }
  return {};
}

}  // namespace

Result<std::optional<PlatformSource>> read_node(const PlatformSource& s) {
  const Params::Entry* key = s.params.find("node");
  const proto::Topology& field = s.message.node();
  // Of --set node.family: another tree under the keys that the platform gives its node, or one where it has none.
  const Params::Entry* family = s.node.find("family");
  if (key == nullptr && family == nullptr && !s.message.has_node()) {
    if (!s.node.entries().empty())
      return bad_input(s.node.entries().front().where, "the platform has no node { }",
                       "node." + s.node.entries().front().key,
                       "--set node=pcie:... or node { family: \"pcie\" }");
    return std::optional<PlatformSource>();
  }
  const std::string where = family != nullptr ? family->where
                            : key != nullptr  ? fmt::format("{}: node", key->where)
                                              : s.where_of("node.family");
  const std::string own = key != nullptr ? key->value : field.has_family() ? field.family() : "pcie";
  const std::string spec = family != nullptr ? family->value : own;
  auto read = read_source(spec);
  if (!read) {
    if (read.error().where.empty()) read.error().where = where;
    return std::move(read.error());
  }
  PlatformSource node = std::move(*read);
  if (node.family != "pcie" || node.params.has("node") || node.message.has_node())
    return bad_input(where, "what is under a host is a PCIe tree", spec,
                     "pcie:key=value,... or a built-in platform of that family");
  WEFT_TRY(check_node_fields(node));
  if (key != nullptr && family != nullptr && is_family(own.substr(0, own.find(':')))) {
    WEFT_ASSIGN(const PlatformSource shorthand, parse_shorthand(own));
    for (const Params::Entry& e : shorthand.params.entries()) node.params.set(e.key, e.value, e.where);
  }
  if (key == nullptr)
    for (int i = 0; i < field.set_size(); ++i) {
      const std::string at = s.where_of(fmt::format("node.set[{}]", i));
      const auto kv = key_value(field.set(i));
      if (!kv) return bad_input(at, "setting without a key", field.set(i), "key=value");
      node.params.set(std::string(kv->first), std::string(kv->second), at);
    }
  for (const Params::Entry& e : s.node.entries())
    if (&e != family) node.params.set(e.key, e.value, e.where);
  return std::optional<PlatformSource>(std::move(node));
}

namespace {

constexpr std::string_view kTopology = "topology.";
// Fields of platform.proto that are keys, too.
constexpr std::pair<std::string_view, std::string_view> kKeysOfFields[] = {{"host.speed", "speed"},
                                                                           {"host.ranks", "ranks_per_host"}};

}  // namespace

std::string_view setting_name(std::string_view key) {
  if (key.starts_with(kTopology)) key.remove_prefix(kTopology.size());
  for (const auto& [field, name] : kKeysOfFields)
    if (key == field) return name;
  return key;
}

Result<void> check_beside_flag(std::string_view setting, std::string_view name, std::string_view flag) {
  if (setting_name(setting.substr(0, setting.find('='))) != name) return {};
  return usage_error(fmt::format("--set {} beside {}, which says the same", name, flag), std::string(setting),
                     "one of the two");
}

Result<void> apply_override(PlatformSource& s, std::string_view setting) {
  const std::string where = fmt::format("--set {}", setting);
  const auto kv = key_value(setting);
  if (!kv) return bad_input(where, "setting without a key", std::string(setting), "key=value");
  auto [key, value] = *kv;
  // Quotes are needed in the short form and in a list of values only, and mean the same here.
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"')
    value = value.substr(1, value.size() - 2);
  if (key.starts_with(kTopology)) key.remove_prefix(kTopology.size());
  if (key == "family") {
    s.family = value;
    s.family_where = where;
    return {};
  }
  if (key == "name") {
    s.name = value;
    return {};
  }
  if (key == "summary") return set_field(s.message, key, value, where);
  if (key.find('.') == std::string_view::npos) {
    s.params.set(std::string(key), std::string(value), where);
    return {};
  }
  constexpr std::string_view kNode = "node.";
  if (key.starts_with(kNode)) {
    s.node.set(std::string(key.substr(kNode.size())), std::string(value), where);
    return {};
  }
  WEFT_TRY(set_field(s.message, key, value, where));
  s.field_where.insert_or_assign(std::string(key), where);
  // A field and its key are one thing: the later one counts.
  if (const std::string_view name = setting_name(key); name != key)
    s.params.set(std::string(name), std::string(value), where);
  return {};
}

}  // namespace weft::topology
