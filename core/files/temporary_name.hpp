// How the temporaries of an output are called, and how a run knows that nobody writes one any more: by the lock on it.
#pragma once

#include <string>

namespace weft {

// Up to and with the last slash; empty where there is none.
[[nodiscard]] std::string folder_of(const std::string& target);

// The name of a temporary of `target`, in its folder. The `first` is the same in every run, so that what a killed run left
// is found by the next one that writes the same file; all others nobody can foresee. Empty, and errno, on failure.
[[nodiscard]] std::string temporary_name(const std::string& target, bool first);

// Whether what is open under this number stands under this name; links are not followed.
[[nodiscard]] bool is_at(int fd, const std::string& name);

// Who writes a temporary holds a lock on it, which ends with its process however that ends. Where the file system knows
// no locks nobody can take one, and nothing is removed.
bool take_lock(int fd);

}  // namespace weft
