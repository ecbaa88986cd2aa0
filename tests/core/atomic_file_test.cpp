// What an output file does to the thing that its path names. Everything happens in a folder of its own; the devices are
// made there with mknod, where the system lets us, and are copies of null and full.
#include "core/files/atomic_file.hpp"
#include "core/files/input_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/support/files.hpp"
#include "tests/support/no_tmpfile.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class AtomicFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string at(const std::string& name) const { return dir_.path(name); }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& e : fs::directory_iterator(folder_)) out.push_back(e.path().filename());
    std::sort(out.begin(), out.end());
    return out;
  }
  [[nodiscard]] static mode_t mode(const std::string& path) {
    struct stat st {};
    EXPECT_EQ(::lstat(path.c_str(), &st), 0) << path;
    return st.st_mode;
  }
  // Ends a child of ours that stands where `prepare` leaves it, and says how it ended.
  template <class Prepare>
  int end_child(int signal, Prepare&& prepare) const {
    int ready[2];
    EXPECT_EQ(::pipe(ready), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      remove_temporaries_when_interrupted();
      prepare([&] { (void)!::write(ready[1], "x", 1); });
      ::_exit(0);
    }
    ::close(ready[1]);
    char c = 0;
    (void)!::read(ready[0], &c, 1);
    ::close(ready[0]);
    ::kill(pid, signal);
    int status = 0;
    ::waitpid(pid, &status, 0);
    return status;
  }
  const support::TempDir dir_;
  const std::string& folder_ = dir_.path();
};

TEST_F(AtomicFileTest, ANewFileHasTheUmasksModeAndAnOldOneKeepsItsOwn) {
  const mode_t old = ::umask(027);
  ASSERT_TRUE(write_output(at("new"), "x"));
  ::umask(old);
  EXPECT_EQ(mode(at("new")) & 07777, 0640u);
  for (const mode_t m : {0600u, 0644u, 0755u, 0660u}) {
    ASSERT_EQ(::chmod(at("new").c_str(), m), 0);
    ASSERT_TRUE(write_output(at("new"), "y"));
    EXPECT_EQ(mode(at("new")) & 07777, m);
  }
  EXPECT_THAT(names(), ElementsAre("new"));
}

TEST_F(AtomicFileTest, ALinkStaysAndTheFileBehindItIsWritten) {
  fs::create_directory(at("far"));
  ASSERT_TRUE(write_output(at("far/file"), "old"));
  fs::create_symlink("far/file", at("one"));
  fs::create_symlink("one", at("two"));
  fs::create_symlink(at("far/not-yet"), at("dangling"));
  fs::create_symlink("round", at("round"));
  ASSERT_TRUE(write_output(at("two"), "new"));
  EXPECT_TRUE(fs::is_symlink(at("two")) && fs::is_symlink(at("one")));
  EXPECT_EQ(read_file(at("far/file")).value(), "new");
  ASSERT_TRUE(write_output(at("dangling"), "made"));
  EXPECT_TRUE(fs::is_symlink(at("dangling")));
  EXPECT_EQ(read_file(at("far/not-yet")).value(), "made");
  const auto r = write_output(at("round"), "x");
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message(), HasSubstr("cannot write: Too many levels of symbolic links"));
}

TEST_F(AtomicFileTest, WhatWasPlantedUnderTheOldTemporaryNameIsNeitherWrittenNorOpened) {
  ASSERT_TRUE(write_output(at("victim"), "precious"));
  fs::create_symlink("victim", at("out.tmp." + std::to_string(::getpid())));
  ASSERT_EQ(::mkfifo(at("fifo.tmp." + std::to_string(::getpid())).c_str(), 0600), 0);
  ASSERT_TRUE(write_output(at("out"), "x"));
  ASSERT_TRUE(write_output(at("fifo"), "x"));
  EXPECT_EQ(read_file(at("victim")).value(), "precious");
}

// A run that is killed leaves nothing, or what the next run that writes the same file removes; never that of a run which
// still writes.
TEST_F(AtomicFileTest, AKilledRunLeavesNothingThatTheNextOneDoesNotRemove) {
  for (const bool nameless : {true, false}) {
    SCOPED_TRACE(nameless ? "files without names" : "a file system that has none");
    ASSERT_TRUE(write_output(at("out"), "old"));
    const auto kill_one = [&](const std::string& name) {
      const int status = end_child(SIGKILL, [&](auto ready) {
        if (!nameless && !support::forbid_nameless_files()) ::_exit(7);
        auto f = AtomicFile::open(at(name));
        f->write(std::string(1 << 20, 'x'));
        ready();
        for (;;) ::pause();
      });
      if (WIFEXITED(status)) GTEST_SKIP() << "no seccomp here";
      EXPECT_EQ(WTERMSIG(status), SIGKILL);
    };
    kill_one("out");
    if (IsSkipped()) return;
    kill_one("new");
    EXPECT_EQ(read_file(at("out")).value(), "old");
    EXPECT_EQ(names().size(), nameless ? 1u : 3u);
    // In a child: what is forbidden stays so. A writer that is at work keeps its own.
    const pid_t pid = ::fork();
    if (pid == 0) {
      if (!nameless) support::forbid_nameless_files();
      auto first = AtomicFile::open(at("out")), second = AtomicFile::open(at("out")),
           third = AtomicFile::open(at("new"));
      first->write("first"), second->write("second"), third->write("third");
      const bool one_each = names().size() == (nameless ? 1u : 4u);
      const bool done =
          third->commit() && first->commit() && read_file(at("out")).value() == "first" && second->commit();
      ::_exit(!one_each ? 1 : done ? 0 : 2);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_THAT(names(), ElementsAre("new", "out"));
    EXPECT_EQ(read_file(at("out")).value(), "second");
    fs::remove(at("new"));
  }
}

// Under the first temporary name stands what is not ours: it is left alone.
TEST_F(AtomicFileTest, WhatIsNoLeftOverOfOursIsNotRemoved) {
  const auto made_by = [&](bool wait) {
    const int status = end_child(SIGKILL, [&](auto ready) {
      if (!support::forbid_nameless_files()) ::_exit(7);
      const auto f = AtomicFile::open(at("out"));
      ready();
      while (wait) ::pause();
    });
    return WIFEXITED(status) && WEXITSTATUS(status) == 7;
  };
  if (made_by(true)) GTEST_SKIP() << "no seccomp here";
  ASSERT_EQ(names().size(), 1u);
  const std::string name = names().front();
  for (int kind = 0; kind < 3; ++kind) {
    fs::remove(at(name));
    ASSERT_TRUE(write_output(at("victim"), "precious"));
    if (kind == 0) fs::create_symlink("victim", at(name));
    if (kind == 1) {
      EXPECT_EQ(::mkfifo(at(name).c_str(), 0600), 0);
    }
    if (kind == 2) fs::create_hard_link(at("victim"), at(name));
    const pid_t pid = ::fork();
    if (pid == 0) {
      support::forbid_nameless_files();
      ::_exit(write_output(at("out"), "x") ? 0 : 1);
    }
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0) << kind;
    EXPECT_THAT(names(), ElementsAre(name, "out", "victim")) << kind;
    EXPECT_EQ(read_file(at("victim")).value(), "precious") << kind;
  }
}

TEST_F(AtomicFileTest, AFifoIsWrittenStraightAndStaysAFifo) {
  // Two, as what one gave is kept (input_file.hpp).
  for (const char* name : {"fifo", "linked"}) ASSERT_EQ(::mkfifo(at(name).c_str(), 0600), 0);
  fs::create_symlink("linked", at("link"));
  for (const auto& [to, from] : {std::pair{"fifo", "fifo"}, std::pair{"link", "linked"}}) {
    std::string got;
    std::thread reader([&] { got = read_file(at(from)).value(); });
    EXPECT_TRUE(write_output(at(to), "through the pipe"));
    reader.join();
    EXPECT_EQ(got, "through the pipe");
    EXPECT_TRUE(S_ISFIFO(mode(at(from))));
  }
  EXPECT_THAT(names(), ElementsAre("fifo", "link", "linked"));
}

TEST_F(AtomicFileTest, ADeviceStaysADeviceAndAFullOneIsAnError) {
  if (::mknod(at("null").c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0 ||
      ::mknod(at("full").c_str(), S_IFCHR | 0666, makedev(1, 7)) != 0 ||
      ::access(at("null").c_str(), W_OK) != 0)
    GTEST_SKIP() << "this user may not make devices";
  if (const int fd = ::open(at("null").c_str(), O_WRONLY); fd < 0)
    GTEST_SKIP() << "devices do not work in " << folder_;
  else
    ::close(fd);
  EXPECT_TRUE(write_output(at("null"), "gone"));
  const auto full = write_output(at("full"), "no place");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().message(), at("full") + ": error: cannot write: No space left on device");
  EXPECT_EQ(exit_code(full.error().code), 3);
  EXPECT_TRUE(S_ISCHR(mode(at("null"))) && S_ISCHR(mode(at("full"))));
  EXPECT_THAT(names(), ElementsAre("full", "null"));
}

TEST_F(AtomicFileTest, ASocketAndAFolderAreRefusedAndStay) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (at("socket").size() >= sizeof address.sun_path)
    GTEST_SKIP() << "the folder's name is too long for a socket";
  at("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  EXPECT_FALSE(write_output(at("socket"), "x"));
  ::close(fd);
  EXPECT_TRUE(S_ISSOCK(mode(at("socket"))));
  EXPECT_FALSE(write_output(folder_, "x"));
  EXPECT_FALSE(write_output(at("none/x"), "x"));
  EXPECT_FALSE(write_output("", "x"));
  EXPECT_THAT(names(), ElementsAre("socket"));
}

TEST_F(AtomicFileTest, ADescriptorIsWrittenWhereItStands) {
  const int fd = ::open(at("log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::write(fd, "first ", 6), 6);
  ASSERT_TRUE(write_output("/dev/fd/" + std::to_string(fd), "second"));
  ASSERT_EQ(::write(fd, " third", 6), 6);
  ::close(fd);
  EXPECT_EQ(read_file(at("log")).value(), "first second third");
  fs::create_symlink("/dev/stdout", at("link"));
  EXPECT_TRUE(is_standard_output("-") && is_standard_output("/dev/stdout") &&
              is_standard_output("/dev/fd/1"));
  EXPECT_TRUE(is_standard_output(at("link")));
  EXPECT_FALSE(is_standard_output("/dev/stderr") || is_standard_output(at("log")));
}

TEST_F(AtomicFileTest, AFileThatMayNotBeWrittenIsNotReplaced) {
  ASSERT_TRUE(write_output(at("mine"), "kept"));
  ASSERT_EQ(::chmod(at("mine").c_str(), 0444), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    const auto r = write_output(at("mine"), "taken");
    ::_exit(r ? 1 : r.error().message().find("Permission denied") == std::string::npos ? 3 : 0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "cannot become another user";
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(read_file(at("mine")).value(), "kept");
}

TEST_F(AtomicFileTest, AnInterruptRemovesTheTemporaryAndEndsTheProgramAsItWould) {
  ASSERT_TRUE(write_output(at("out"), "old"));
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    const int status = end_child(signal, [&](auto ready) {
      auto f = AtomicFile::open(at("out"));
      auto closed = AtomicFile::open(at("other"));
      ::mkdir(at("sub").c_str(), 0700);
      const Temporary folder(at("sub"), Temporary::Kind::kFolder);
      auto within = AtomicFile::open(at("sub/file"));
      f->write(std::string(1 << 20, 'x'));
      (void)closed->close();
      ready();
      for (;;) ::pause();
    });
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal) << "a shell calls it 128 + " << signal;
    EXPECT_THAT(names(), ElementsAre("out")) << "signal " << signal;
  }
  EXPECT_EQ(read_file(at("out")).value(), "old");
}

// Not write_output(), which waits for the disk.
void fill(const std::string& path) { std::ofstream(path) << "x"; }

// More entries than one read of a folder gives, one folder in another, and a link that must not be followed.
TEST_F(AtomicFileTest, AnInterruptRemovesAFolderWithAllThatIsInIt) {
  fs::create_directory(at("kept"));
  ASSERT_TRUE(write_output(at("kept/file"), "kept"));
  for (const bool interrupted : {true, false}) {
    const auto grow = [&] {
      fs::create_directories(at("tree/in/deep"));
      for (int i = 0; i < 1000; ++i) {
        fill(at("tree/in/" + std::to_string(i)));
        fill(at("tree/in/deep/" + std::to_string(i)));
      }
      fs::create_symlink(at("kept"), at("tree/link"));
    };
    if (interrupted) {
      const int status = end_child(SIGTERM, [&](auto ready) {
        grow();
        const Temporary tree(at("tree"), Temporary::Kind::kTree);
        ready();
        for (;;) ::pause();
      });
      EXPECT_EQ(WTERMSIG(status), SIGTERM);
    } else {
      grow();
      { const Temporary tree(at("tree"), Temporary::Kind::kTree); }
    }
    EXPECT_FALSE(fs::exists(at("tree"))) << interrupted;
    EXPECT_EQ(read_file(at("kept/file")).value(), "kept");
  }
}

// timeout and shells tell a program twice; the second signal comes to another thread while the first is at work.
TEST_F(AtomicFileTest, ASecondInterruptDoesNotEndTheProgramBeforeTheFirstIsDone) {
  for (int round = 0; round < 20; ++round) {
    const int status = end_child(SIGTERM, [&](auto ready) {
      fs::create_directories(at("tree"));
      for (int i = 0; i < 500; ++i) fill(at("tree/" + std::to_string(i)));
      const Temporary tree(at("tree"), Temporary::Kind::kTree);
      // Says again what was said, once the first of the files is gone.
      std::thread([&] {
        sigset_t none;
        ::sigemptyset(&none);
        ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
        while (fs::exists(at("tree/0")) && fs::exists(at("tree/499"))) {
        }
        ::pthread_kill(::pthread_self(), SIGINT);
        for (;;) ::pause();
      }).detach();
      ready();
      for (;;) ::pause();
    });
    EXPECT_EQ(WTERMSIG(status), SIGTERM);
    ASSERT_FALSE(fs::exists(at("tree"))) << "round " << round;
  }
}

// A folder for many files: it goes with an interrupt, and after SIGKILL with the next run of the same output; never one in which
// a run is at work, and nothing that is no such folder.
TEST_F(AtomicFileTest, AKilledRunsWorkFolderGoesWithTheNextOne) {
  const auto end_one = [&](int signal) {
    return end_child(signal, [&](auto ready) {
      const auto work = WorkFolder::open(at("out"));
      std::ofstream(work->path() + "/half") << "x";
      fs::create_directories(work->path() + "/deep/er");
      ready();
      for (;;) ::pause();
    });
  };
  EXPECT_EQ(WTERMSIG(end_one(SIGINT)), SIGINT);
  EXPECT_THAT(names(), IsEmpty());
  EXPECT_EQ(WTERMSIG(end_one(SIGKILL)), SIGKILL);
  ASSERT_EQ(names().size(), 1u);
  const std::string left = names().front();
  {
    const auto again = WorkFolder::open(at("out")), beside = WorkFolder::open(at("out"));
    EXPECT_EQ(again->path(), at(left));
    EXPECT_TRUE(fs::is_empty(again->path()));
    EXPECT_NE(beside->path(), again->path());
    EXPECT_EQ(names().size(), 2u);
  }
  EXPECT_THAT(names(), IsEmpty());
  fs::create_directory(at("precious"));
  ASSERT_TRUE(write_output(at("precious/file"), "x"));
  fs::create_symlink("precious", at(left));
  EXPECT_NE(WorkFolder::open(at("out"))->path(), at(left));
  EXPECT_THAT(names(), ElementsAre(left, "precious"));
  fs::remove(at(left));
  ASSERT_TRUE(write_output(at(left), "a file"));
  EXPECT_NE(WorkFolder::open(at("out"))->path(), at(left));
  EXPECT_THAT(names(), ElementsAre(left, "precious"));
  EXPECT_TRUE(fs::exists(at("precious/file")));
}

TEST_F(AtomicFileTest, ManyClosedFilesWaitInAWorkFolder) {
  EXPECT_EQ(WTERMSIG(end_child(SIGKILL,
                               [&](auto ready) {
                                 const auto work = WorkFolder::open(at("out"));
                                 std::vector<AtomicFile> files;
                                 for (int i = 0; i < 3; ++i) {
                                   files.push_back(AtomicFile::open(at(std::to_string(i)), &*work).value());
                                   files.back().write("half");
                                   if (i < 2) (void)files.back().close();
                                 }
                                 ready();
                                 for (;;) ::pause();
                               })),
            SIGKILL);
  ASSERT_EQ(names().size(), 1u) << "the folder with two files";
  auto work = WorkFolder::open(at("out"));
  EXPECT_TRUE(fs::is_empty(work->path()));
  fs::create_directory(at("far"));
  fs::create_symlink("far/file", at("1"));
  std::vector<AtomicFile> files;
  for (int i = 0; i < 3; ++i) {
    files.push_back(AtomicFile::open(at(std::to_string(i)), &*work).value());
    files.back().write("whole");
    ASSERT_TRUE(files.back().close());
  }
  EXPECT_FALSE(fs::exists(at("0")));
  ASSERT_TRUE(commit_all(files));
  work = WorkFolder();
  EXPECT_THAT(names(), ElementsAre("0", "1", "2", "far"));
  EXPECT_TRUE(fs::is_symlink(at("1")));
  EXPECT_EQ(read_file(at("far/file")).value(), "whole");
  EXPECT_EQ(mode(at("0")) & 0777, 0644u & ~static_cast<unsigned>(::umask(022)));
}

// So that of a program that is killed while they are brought to the disk nothing is left.
TEST_F(AtomicFileTest, FilesOfACommitOfAllHaveNoNameBeforeIt) {
  std::vector<AtomicFile> files;
  for (const char* const name : {"1", "2"}) {
    auto file = AtomicFile::open(at(name));
    ASSERT_TRUE(file);
    file->write("whole");
    files.push_back(std::move(*file));
  }
  const bool nameless = names().empty();  // what the file system gives
  ASSERT_TRUE(commit_all(files));
  EXPECT_THAT(names(), ElementsAre("1", "2"));
  EXPECT_EQ(read_file(at("2")).value(), "whole");
  EXPECT_TRUE(nameless || ::access("/proc/self/fd/0", F_OK) != 0);
}

TEST_F(AtomicFileTest, AFullDiskIsToldBeforeAnyOfThemHasItsName) {
  std::vector<AtomicFile> files;
  for (const char* const path : {"1", "/dev/full"}) {
    auto file = AtomicFile::open(path[0] == '/' ? path : at(path));
    ASSERT_TRUE(file);
    file->write("whole");
    files.push_back(std::move(*file));
  }
  EXPECT_FALSE(commit_all(files));
  files.clear();
  EXPECT_TRUE(names().empty());
}

TEST_F(AtomicFileTest, AnIgnoredInterruptStaysIgnored) {
  const int status = end_child(SIGKILL, [&](auto ready) {
    ::signal(SIGHUP, SIG_IGN);
    remove_temporaries_when_interrupted();
    // Those of the first call are in place already; what nohup ignored must still be.
    ::raise(SIGHUP);
    ready();
    for (;;) ::pause();
  });
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_F(AtomicFileTest, FilesThatBelongTogetherAppearTogetherOrNotAtAll) {
  // The signal arrives after the first rename: it waits for the last.
  const int status = end_child(SIGTERM, [&](auto ready) {
    std::vector<AtomicFile> files;
    for (int i = 0; i < 20; ++i) {
      files.push_back(AtomicFile::open(at("f" + std::to_string(i))).value());
      files.back().write("x");
      (void)files.back().close();
    }
    {
      const HoldInterrupts hold;
      (void)files[0].commit();
      ready();
      ::usleep(50000);  // it comes now, is held, and cuts the sleep short
      (void)commit_all(std::span(files).subspan(1));
    }
    ::usleep(2000000);
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  EXPECT_EQ(names().size(), 20u);
}

}  // namespace
}  // namespace weft
