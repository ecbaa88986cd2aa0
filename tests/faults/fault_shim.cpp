// Preloaded into weft by the tests of this folder: makes one allocation or one system call of a run fail.
//
//   WEFT_FAULT_ALLOCATION=N    the N-th allocation after main() has begun finds no memory; "N+": nor does any later one
//   WEFT_FAULT_CALL=KIND:N:E   the N-th call of KIND answers errno E and does nothing; "N+": so does every later one
//   WEFT_FAULT_FILE=N:PATH     before the N-th read, PATH is cut to half its size; "N:-PATH": it is removed
//   WEFT_FAULT_COUNT=PATH      when the program ends: "allocations A write W sync S rename R close C read D\n"
//   WEFT_FAULT_SERVER=IN:OUT   descriptors: main() runs once for each order that is read from IN, in a process of its own, with
//                              what the order says instead of the variables above (lines "WEFT_FAULT_...=...", a NUL byte
//                              behind the last); its status, an int of waitpid(), goes to OUT. Saves the loader's work.
//
// Allocations are malloc() and its kin, so operator new, the C library's own and those of every library that weft is
// linked with. What the loader and constructors of libraries allocate before main() is not counted: no code of Weft runs
// then. System calls are seen by the kernel (a seccomp filter that sends SIGSYS), so those of stdio are among them, which
// a function of the same name would not catch; the one place that may call it is the stub at the end of this file.
//
// Nothing here allocates. Linux on x86-64.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);

// The one system call instruction that the filter lets through, and the address behind it.
long weft_fault_syscall(long number, long a, long b, long c, long d, long e, long f);
extern const char weft_fault_after_syscall[];
}
asm(R"(
.text
.globl weft_fault_syscall
.hidden weft_fault_after_syscall
.globl weft_fault_after_syscall
.type weft_fault_syscall, @function
weft_fault_syscall:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
weft_fault_after_syscall:
  ret
.size weft_fault_syscall, . - weft_fault_syscall
)");

namespace {

enum Kind { kWrite, kSync, kRename, kClose, kRead, kKinds };
constexpr const char* kNames[kKinds] = {"write", "sync", "rename", "close", "read"};
constexpr struct {
  int number;
  Kind kind;
} kCalls[] = {
    {SYS_write, kWrite},     {SYS_pwrite64, kWrite},   {SYS_writev, kWrite}, {SYS_ftruncate, kWrite},
    {SYS_fsync, kSync},      {SYS_fdatasync, kSync},   {SYS_syncfs, kSync},  {SYS_rename, kRename},
    {SYS_renameat, kRename}, {SYS_renameat2, kRename}, {SYS_link, kRename},  {SYS_linkat, kRename},
    {SYS_close, kClose},     {SYS_read, kRead},        {SYS_pread64, kRead}, {SYS_readv, kRead}};

// The N-th of something, or from it on.
struct When {
  long at = 0;
  bool and_later = false;
  [[nodiscard]] bool is(long n) const { return at > 0 && (n == at || (and_later && n > at)); }
};

std::atomic<bool> counting{false};
std::atomic<long> allocations{0};
std::atomic<long> calls[kKinds];
When fail_allocation, fail_call, change_file;
Kind fail_kind = kKinds;
int fail_errno = 0;
const char* changed_path = nullptr;
const char* count_path = nullptr;

When number_of(const char* text, char** end) {
  When w;
  w.at = strtol(text, end, 10);
  if (**end == '+') {
    w.and_later = true;
    ++*end;
  }
  return w;
}

bool no_memory() {
  if (!counting.load(std::memory_order_relaxed)) return false;
  if (!fail_allocation.is(allocations.fetch_add(1, std::memory_order_relaxed) + 1)) return false;
  errno = ENOMEM;
  return true;
}

void change_the_file() {
  if (changed_path[0] == '-') {
    weft_fault_syscall(SYS_unlink, reinterpret_cast<long>(changed_path + 1), 0, 0, 0, 0, 0);
    return;
  }
  struct stat st;
  if (stat(changed_path, &st) == 0)
    weft_fault_syscall(SYS_truncate, reinterpret_cast<long>(changed_path), st.st_size / 2, 0, 0, 0, 0);
}

void on_call(int, siginfo_t* info, void* context) {
  greg_t* const r = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const int number = info->si_syscall;
  // A message must be able to leave.
  const bool message = (number == SYS_write || number == SYS_writev) && r[REG_RDI] == STDERR_FILENO;
  if (counting.load() && !message)
    for (const auto& c : kCalls) {
      if (c.number != number) continue;
      const long n = ++calls[c.kind];
      if (c.kind == kRead && changed_path != nullptr && change_file.is(n)) change_the_file();
      if (c.kind != fail_kind || !fail_call.is(n)) break;
      if (number == SYS_close)
        weft_fault_syscall(number, r[REG_RDI], 0, 0, 0, 0, 0);  // it is closed all the same
      r[REG_RAX] = -fail_errno;
      return;
    }
  r[REG_RAX] =
      weft_fault_syscall(number, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]);
}

void die(const char* why) {
  weft_fault_syscall(SYS_write, STDERR_FILENO, reinterpret_cast<long>(why), static_cast<long>(strlen(why)), 0,
                     0, 0);
  _exit(99);
}

void watch_calls() {
  struct sigaction on {};
  on.sa_sigaction = on_call;
  on.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSYS, &on, nullptr) != 0) die("fault shim: sigaction\n");
  constexpr int kMost = 64;
  sock_filter f[kMost];
  int n = 0;
  const auto after = reinterpret_cast<uint64_t>(weft_fault_after_syscall);
  const auto load = [&](size_t at) {
    f[n++] = sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<uint32_t>(at)};
  };
  const auto equal = [&](uint32_t value, uint8_t yes, uint8_t no) {
    f[n++] = sock_filter{BPF_JMP | BPF_JEQ | BPF_K, yes, no, value};
  };
  const auto answer = [&](uint32_t value) { f[n++] = sock_filter{BPF_RET | BPF_K, 0, 0, value}; };
  load(offsetof(seccomp_data, arch));
  equal(AUDIT_ARCH_X86_64, 1, 0);
  answer(SECCOMP_RET_ALLOW);
  load(offsetof(seccomp_data, instruction_pointer));
  equal(static_cast<uint32_t>(after), 0, 3);
  load(offsetof(seccomp_data, instruction_pointer) + 4);
  equal(static_cast<uint32_t>(after >> 32), 0, 1);
  answer(SECCOMP_RET_ALLOW);
  load(offsetof(seccomp_data, nr));
  for (const auto& c : kCalls) {
    equal(static_cast<uint32_t>(c.number), 0, 1);
    answer(SECCOMP_RET_TRAP);
  }
  answer(SECCOMP_RET_ALLOW);
  const sock_fprog program{static_cast<unsigned short>(n), f};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    die("fault shim: seccomp\n");
}

// Does what the variables say that `value_of` knows; its texts must stay.
template <typename ValueOf>
void take_orders(const ValueOf& value_of) {
  const char* text = value_of("WEFT_FAULT_ALLOCATION");
  char* end = nullptr;
  if (text != nullptr) fail_allocation = number_of(text, &end);
  text = value_of("WEFT_FAULT_CALL");
  if (text != nullptr) {
    for (int k = 0; k < kKinds; ++k) {
      const size_t length = strlen(kNames[k]);
      if (strncmp(text, kNames[k], length) != 0 || text[length] != ':') continue;
      fail_kind = static_cast<Kind>(k);
      fail_call = number_of(text + length + 1, &end);
      fail_errno = static_cast<int>(strtol(end + 1, nullptr, 10));
    }
    if (fail_kind == kKinds) die("fault shim: WEFT_FAULT_CALL\n");
  }
  const char* const file = value_of("WEFT_FAULT_FILE");
  if (file != nullptr) {
    change_file = number_of(file, &end);
    changed_path = end + 1;
  }
  count_path = value_of("WEFT_FAULT_COUNT");
  if (text != nullptr || file != nullptr || count_path != nullptr) watch_calls();
}

[[gnu::destructor]] void finish() {
  counting = false;
  if (count_path == nullptr) return;
  const int fd = open(count_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) die("fault shim: WEFT_FAULT_COUNT\n");
  const auto put = [fd](const char* name, long n) {
    char digits[24];
    char* at = digits + sizeof digits;
    *--at = ' ';
    do *--at = static_cast<char>('0' + n % 10);
    while ((n /= 10) > 0);
    (void)!write(fd, name, strlen(name));
    (void)!write(fd, " ", 1);
    (void)!write(fd, at, static_cast<size_t>(digits + sizeof digits - at));
  };
  put("allocations", allocations.load());
  for (int k = 0; k < kKinds; ++k) put(kNames[k], calls[k].load());
  close(fd);
}

// One order into `order`, its lines as texts one behind the other and an empty one last; false at the end of orders.
bool next_order(int from, char* order, size_t room) {
  size_t n = 0;
  do {
    if (n + 1 >= room) die("fault shim: an order is too long\n");
    if (read(from, order + n, 1) != 1) return false;
  } while (order[n++] != '\0');
  order[n] = '\0';
  for (size_t i = 0; i < n; ++i)
    if (order[i] == '\n') order[i] = '\0';
  return true;
}

// Returns in a process of its own for each order, never in the one that was started.
void serve(const char* descriptors) {
  constexpr unsigned kSeconds = 60;  // of a run that hangs
  static char order[8192];
  char* end = nullptr;
  const int from = static_cast<int>(strtol(descriptors, &end, 10)), to = atoi(end + 1);
  while (next_order(from, order, sizeof order)) {
    const pid_t child = fork();
    if (child < 0) die("fault shim: fork\n");
    if (child == 0) {
      close(from);
      close(to);
      alarm(kSeconds);
      take_orders([](const char* name) -> const char* {
        const size_t length = strlen(name);
        for (const char* line = order; *line != '\0'; line += strlen(line) + 1)
          if (strncmp(line, name, length) == 0 && line[length] == '=') return line + length + 1;
        return nullptr;
      });
      return;
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) die("fault shim: waitpid\n");
    if (write(to, &status, sizeof status) != sizeof status) die("fault shim: status\n");
  }
  _exit(0);
}

using Main = int(int, char**, char**);
Main* real_main = nullptr;
int counted_main(int argc, char** argv, char** env) {
  if (const char* const descriptors = getenv("WEFT_FAULT_SERVER"); descriptors != nullptr)
    serve(descriptors);
  else
    take_orders(static_cast<char* (*)(const char*)>(getenv));
  counting = true;
  return real_main(argc, argv, env);
}

}  // namespace

extern "C" {

int __libc_start_main(Main* main, int argc, char** argv, void (*init)(), void (*fini)(), void (*rtld_fini)(),
                      void* stack_end) {
  real_main = main;
  using Start = int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*);
  auto* const start = reinterpret_cast<Start*>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return start(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

void* malloc(size_t n) { return no_memory() ? nullptr : __libc_malloc(n); }
void* calloc(size_t n, size_t size) { return no_memory() ? nullptr : __libc_calloc(n, size); }
void* realloc(void* p, size_t n) { return no_memory() ? nullptr : __libc_realloc(p, n); }
void* memalign(size_t at, size_t n) { return no_memory() ? nullptr : __libc_memalign(at, n); }
void* aligned_alloc(size_t at, size_t n) { return memalign(at, n); }
int posix_memalign(void** out, size_t at, size_t n) {
  void* const p = memalign(at, n);
  if (p == nullptr) return ENOMEM;
  *out = p;
  return 0;
}

}  // extern "C"
