// Which files are the ranks of a DUMPI trace.
//
//   a .meta file      key=value lines; numprocs=N and fileprefix=P: the ranks are P-0000.bin, P-0001.bin ... beside it
//   a directory       with one .meta file, or with one family of files NAME-0000.bin, NAME-0001.bin ...
//   a .bin file       its family; a name without a number is a trace of one rank
//   several paths     the files of rank 0, 1, ...
// Errors: kBadInput: a rank's file is missing, two traces in a directory, a .meta that says no number of ranks.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"

namespace weft::traces::dumpi {

[[nodiscard]] Result<std::vector<std::string>> rank_paths(const std::vector<std::string>& paths);

// Whether open_dumpi() gives the better error, at least: a rank's file by its magic, a .meta by its keys, a directory by
// what is in it.
[[nodiscard]] bool looks_like_dumpi(const std::string& path, std::string_view first_bytes);

}  // namespace weft::traces::dumpi
