#include "traces/recorder/launch/program_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <span>
#include <string_view>

#include "traces/recorder/launch/command_output.hpp"

namespace weft::recorder {
namespace {

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

// A file of this machine's format in memory. Whatever its numbers say, nothing outside of it is read.
class ProgramFile {
 public:
  explicit ProgramFile(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct stat st {};
    if (::fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= std::int64_t{sizeof(Header)}) {
      const auto size = static_cast<std::size_t>(st.st_size);
      void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
      if (at != MAP_FAILED) bytes_ = {static_cast<const char*>(at), size};
    }
    ::close(fd);
    constexpr unsigned char kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
    const bool ours = !bytes_.empty() && std::string_view(bytes_.data(), SELFMAG) == ELFMAG &&
                      bytes_[EI_CLASS] == kClass && (header().e_type == ET_EXEC || header().e_type == ET_DYN);
    if (!ours) close();
  }
  ~ProgramFile() { close(); }
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;

  [[nodiscard]] bool good() const { return !bytes_.empty(); }

  // The dynamic linker it asks for; empty if it is static.
  [[nodiscard]] std::string interpreter() const {
    const Header& h = header();
    for (const Segment& s : table<Segment>(h.e_phoff, std::size_t{h.e_phnum} * sizeof(Segment)))
      if (s.p_type == PT_INTERP) return std::string(text(s.p_offset));
    return {};
  }

  // Whether a symbol table defines `name` here.
  [[nodiscard]] bool defines(std::string_view name) const {
    const Header& h = header();
    const auto sections = table<Section>(h.e_shoff, std::size_t{h.e_shnum} * sizeof(Section));
    for (const Section& s : sections) {
      if ((s.sh_type != SHT_SYMTAB && s.sh_type != SHT_DYNSYM) || s.sh_link >= sections.size()) continue;
      const Section& names = sections[s.sh_link];
      for (const Symbol& symbol : table<Symbol>(s.sh_offset, s.sh_size))
        if (symbol.st_shndx != SHN_UNDEF && symbol.st_name < names.sh_size &&
            text(names.sh_offset + symbol.st_name) == name)
          return true;
    }
    return false;
  }

 private:
  [[nodiscard]] const Header& header() const { return *reinterpret_cast<const Header*>(bytes_.data()); }
  // `size` bytes of rows from `at`; none if they are not all in the file, or not where rows can be.
  template <class Row>
  [[nodiscard]] std::span<const Row> table(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || size > bytes_.size() - at || at % alignof(Row) != 0) return {};
    return {reinterpret_cast<const Row*>(bytes_.data() + at), size / sizeof(Row)};
  }
  [[nodiscard]] std::string_view text(std::size_t at) const {
    if (at >= bytes_.size()) return {};
    const std::string_view rest(bytes_.data() + at, bytes_.size() - at);
    return rest.substr(0, rest.find('\0'));
  }
  void close() {
    if (!bytes_.empty()) ::munmap(const_cast<char*>(bytes_.data()), bytes_.size());
    bytes_ = {};
  }
  std::span<const char> bytes_;
};

// Lines "libmpi.so.40 => /usr/lib/libmpi.so.40 (0x...)", and "/lib64/ld-linux.so.2 (0x...)".
void find_mpi(std::string_view lines, ProgramMpi& found) {
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    std::string_view line = lines.substr(0, end);
    lines = end == std::string_view::npos ? std::string_view() : lines.substr(end + 1);
    const std::size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) continue;
    line = line.substr(begin);
    const std::string name(line.substr(0, line.find_first_of(" \t")));
    const Abi abi = abi_of_library(name.c_str());
    if (abi == Abi::kNone || (found.abi != Abi::kNone && found.abi != Abi::kOther)) continue;
    found.abi = abi;
    found.library = base_name(name.c_str());
  }
}

bool is_program(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISREG(st.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string executable_of(const std::string& word) {
  if (word.empty()) return {};
  if (word.find('/') != std::string::npos) return is_program(word) ? word : std::string();
  const char* path = std::getenv("PATH");
  for (std::string_view rest = path != nullptr ? path : ""; !rest.empty();) {
    const std::size_t end = rest.find(':');
    const std::string folder(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    std::string candidate = (folder.empty() ? "." : folder) + "/" + word;
    if (is_program(candidate)) return candidate;
  }
  // Launchers also take a program of the working directory without "./".
  return is_program(word) ? "./" + word : std::string();
}

ProgramMpi mpi_of_program(const std::string& path) {
  ProgramMpi found;
  const ProgramFile file(path);
  if (!file.good()) return found;
  const std::string linker = file.interpreter();
  if (linker.starts_with('/')) find_mpi(output_of({linker, "--list", path}), found);
  found.has_inside = found.abi == Abi::kNone && file.defines("MPI_Init");
  return found;
}

}  // namespace weft::recorder
