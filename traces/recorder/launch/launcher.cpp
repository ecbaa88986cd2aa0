#include "traces/recorder/launch/launcher.hpp"

#include <cstdlib>
#include <string_view>

#include "traces/recorder/launch/command_output.hpp"

namespace weft::recorder {

Launcher launcher_of(const std::string& program) {
  const std::string_view name = base_name(program.c_str());
  bool launcher = name == "orterun" || name == "prterun";
  for (const std::string_view known : {"mpirun", "mpiexec"})
    launcher = launcher || name == known || (name.starts_with(known) && name[known.size()] == '.');
  if (!launcher) return {};
  const std::string text = output_of({program, "--version"});
  const auto says = [&](const char* part) { return text.find(part) != std::string::npos; };
  if (says("PRRTE")) return {Abi::kOpenMpi, true};
  if (says("OpenRTE")) return {Abi::kOpenMpi, false};
  // "mpirun (Open MPI) 5.0.7"
  constexpr std::string_view kOpenMpi = "(Open MPI) ";
  if (const std::size_t at = text.find(kOpenMpi); at != std::string::npos)
    return {Abi::kOpenMpi, std::atoi(text.c_str() + at + kOpenMpi.size()) >= 5};
  if (says("Open MPI")) return {Abi::kOpenMpi, false};
  if (says("HYDRA") || says("Intel(R) MPI") || says("mpich")) return {Abi::kMpich, false};
  return {};
}

}  // namespace weft::recorder
