// What a reader may cost, in a child process: address space, and with it memory; and it ends.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <new>

// Under the address sanitizer, which CI does not use, a limit of addresses leaves no room for its own.
#if defined(__SANITIZE_ADDRESS__)
#define WEFT_NO_ADDRESS_LIMIT 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEFT_NO_ADDRESS_LIMIT 1
#endif
#endif
#ifdef WEFT_NO_ADDRESS_LIMIT
#define WEFT_NEEDS_ADDRESS_LIMIT() GTEST_SKIP() << "the address sanitizer needs the whole address space"
#else
#define WEFT_NEEDS_ADDRESS_LIMIT() (void)0
#endif

namespace weft::traces::testing {

// Runs `body` in a child that may map only `room` bytes more than this process has now, where addresses can be
// limited. One that works for a minute is taken for one that does not end. True if it returned true.
inline bool within(std::size_t room, const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr rlim_t kEndless = 60;  // seconds of the processor: what other programs do changes nothing
    const rlimit work{kEndless, kEndless};
    if (::setrlimit(RLIMIT_CPU, &work) != 0) ::_exit(3);
#ifndef WEFT_NO_ADDRESS_LIMIT
    std::ifstream statm("/proc/self/statm");
    std::size_t pages = 0;
    statm >> pages;
    const rlim_t limit = pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + room;
    const rlimit l{limit, limit};
    if (::setrlimit(RLIMIT_AS, &l) != 0) ::_exit(3);
#else
    static_cast<void>(room);
#endif
    try {
      ::_exit(body() ? 0 : 1);
    } catch (const std::bad_alloc&) {
      ::_exit(2);
    }
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace weft::traces::testing
