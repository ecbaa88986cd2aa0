// The output files of one verb: --json, --csv and its own (-o, --svg). They are opened before the verb does anything,
// so that a path that cannot be written is told at once; no two of them may be one file, and none a file that is read.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/files/atomic_file.hpp"
#include "core/files/text_sink.hpp"
#include "core/result.hpp"

namespace weft::cli {

class Outputs {
 public:
  enum class Opened {
    kHere,    // written by write()
    kByVerb,  // a library that streams opens it; here it counts only as a name
  };
  // `path` is read when the verb starts; empty = not asked for. Both must outlive the object's use.
  void add(std::string flag, const std::string* path, Opened opened = Opened::kHere);

  // Whether `flag` has outputs; one of several formats ("--export") is told by its first word.
  [[nodiscard]] bool has(std::string_view flag) const;
  // `given`: the other words of the command line, each with its option; a file that one of them names, whole or after a
  // "=", ":" or ",", is an input. Errors: kUsage where two flags name one file or one names an input or a file of a
  // journal, kBadInput where one cannot be written.
  using Given = std::pair<std::string, std::string>;
  [[nodiscard]] Result<void> open(std::span<const Given> given);
  // One of them is standard output, so that nothing else may be printed there.
  [[nodiscard]] bool take_standard_output() const { return take_standard_output_; }
  // Writes the output of `flag`, whole; nothing where it was not asked for.
  [[nodiscard]] Result<void> write(const std::string& flag, std::string_view text);
  // The same of a text too large to be held: `make` hands it on piece by piece. Its error is returned, and nothing written.
  [[nodiscard]] Result<void> write_pieces(const std::string& flag,
                                          const std::function<Result<void>(const TextSink&)>& make);

  // Prints on standard output. What goes wrong is told by finish(), as an error of the verb.
  void print(std::string_view text);
  [[nodiscard]] Result<void> finish();
  // Takes away what was not written: for a verb that ends the program by itself.
  void discard();

 private:
  struct Output {
    std::string flag;
    const std::string* path;
    Opened opened;
    std::optional<AtomicFile> file;
  };
  std::deque<Output> outputs_;
  bool take_standard_output_ = false;
  int print_error_ = 0;
};

}  // namespace weft::cli
