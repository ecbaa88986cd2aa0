// Starting other programs: the words of exec, waiting, and what a short command prints.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace weft::recorder {

// argv of exec, as long as `words` lives.
[[nodiscard]] std::vector<char*> exec_words(const std::vector<std::string>& words);

// The wait status of a child that ends, whatever signals come meanwhile.
int wait_for_status(pid_t pid);

// The standard output of a command that ends by itself, run without input, preloaded libraries and standard error;
// empty if it cannot be started.
[[nodiscard]] std::string output_of(const std::vector<std::string>& command);

}  // namespace weft::recorder
