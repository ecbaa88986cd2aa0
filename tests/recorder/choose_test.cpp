// Which recorder a command gets: names of libraries, programs made by hand, and what launchers are told.
#include "traces/recorder/launch/choose.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstring>
#include <random>

#include "tests/support/files.hpp"
#include "traces/recorder/launch/launch.hpp"
#include "traces/recorder/launch/program_file.hpp"

namespace weft::recorder::testing {
namespace {

namespace fs = std::filesystem;
using support::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

std::string script(const TempDir& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder.path(name)) << "#!/bin/sh\n" << text << "\n";
  ::chmod(folder.path(name).c_str(), 0755);
  return folder.path(name);
}

// A program of this machine's format that nothing can run: its dynamic linker, or none, and one defined symbol, or
// none.
std::string elf_bytes(const std::string& interpreter, const std::string& symbol) {
  struct {
    Elf64_Ehdr header{};
    Elf64_Phdr segment{};
    Elf64_Shdr sections[2]{};
    Elf64_Sym symbols[2]{};
  } f;
  const std::string names = std::string(1, '\0') + symbol + std::string(1, '\0');
  std::memcpy(f.header.e_ident, ELFMAG, SELFMAG);
  f.header.e_ident[EI_CLASS] = ELFCLASS64;
  f.header.e_type = ET_EXEC;
  f.header.e_phoff = offsetof(decltype(f), segment);
  f.header.e_phnum = 1;
  f.header.e_shoff = offsetof(decltype(f), sections);
  f.header.e_shnum = 2;
  f.segment.p_type = interpreter.empty() ? PT_NULL : PT_INTERP;
  f.segment.p_offset = sizeof f + names.size();
  f.sections[0].sh_type = symbol.empty() ? SHT_NULL : SHT_SYMTAB;
  f.sections[0].sh_offset = offsetof(decltype(f), symbols);
  f.sections[0].sh_size = sizeof f.symbols;
  f.sections[0].sh_link = 1;
  f.sections[1].sh_type = SHT_STRTAB;
  f.sections[1].sh_offset = sizeof f;
  f.sections[1].sh_size = names.size();
  f.symbols[1].st_name = 1;
  f.symbols[1].st_shndx = 5;
  return std::string(reinterpret_cast<const char*>(&f), sizeof f) + names + interpreter +
         std::string(1, '\0');
}
std::string elf(const TempDir& folder, const std::string& name, const std::string& interpreter,
                const std::string& symbol) {
  std::ofstream(folder.path(name), std::ios::binary) << elf_bytes(interpreter, symbol);
  ::chmod(folder.path(name).c_str(), 0755);
  return folder.path(name);
}
// One that loads `library`, as its dynamic linker lists it.
std::string loads(const TempDir& folder, const std::string& name, const std::string& library) {
  return elf(folder, name,
             script(folder, name + ".ld",
                    "[ $1 = --list ] && printf '\\tlinux-vdso.so.1 (0x7ff)\\n\\tlibc.so.6 => "
                    "/lib/libc.so.6 (0x7f0)\\n\\t" +
                        library + " => not found\\n'"),
             "");
}

TEST(RecorderAbi, IsToldByTheNameOfTheLibrary) {
  for (const char* name : {"libmpi.so.40", "/usr/lib/libmpi.so.40.30.4", "libmpi_mpifh.so.40"})
    EXPECT_EQ(abi_of_library(name), Abi::kOpenMpi) << name;
  for (const char* name : {"libmpi.so.12", "/x/libmpich.so.12.2.2", "libmpi_gnu_91.so.12",
                           "libmpi_cray.so.12", "libmpifort.so.12", "libmpichfort.so.12"})
    EXPECT_EQ(abi_of_library(name), Abi::kMpich) << name;
  for (const char* name : {"libmpi.so", "libmpi.so.20", "libmpi.so.400", "libmpich.so.10", "libmpi_abi.so.0"})
    EXPECT_EQ(abi_of_library(name), Abi::kOther) << name;
  for (const char* name :
       {"libmpi_x.so.3", "libmpir.so.1", "libmpfr.so.40", "libmpi", "", "/libmpi.so.40/libc.so.6"})
    EXPECT_EQ(abi_of_library(name), Abi::kNone) << name;
}

TEST(RecorderChoice, IsTheOneOfTheProgramAmongTheWords) {
  const TempDir folder;
  for (const char* abi : {"openmpi", "mpich"})
    std::ofstream(folder.path(kRecorderPrefix + std::string(abi) + ".so"));
  const std::string mpich = loads(folder, "a", "libmpich.so.12");
  const std::string open_mpi = loads(folder, "b", "libmpi.so.40");
  const std::string neither = loads(folder, "c", "libm.so.6");
  const auto chosen = [&](const Words& words) {
    const auto choice = choose_library(words, folder.path());
    return choice ? choice->library.substr(folder.path().size() + 1) : choice.error().message();
  };
  EXPECT_EQ(chosen({"srun", "-n", "4", mpich}), "libweft_record_mpich.so");
  EXPECT_EQ(chosen({"env", "X=1", open_mpi, mpich}), "libweft_record_openmpi.so")
      << "the first program counts";
  EXPECT_EQ(chosen({neither, mpich}), "libweft_record_mpich.so");
  EXPECT_EQ(chosen({neither}), "libweft_record_openmpi.so") << "the first there is";
  // Without a program that says, the launcher does.
  EXPECT_EQ(chosen({script(folder, "mpirun", "echo HYDRA build details"), neither}),
            "libweft_record_mpich.so");
  EXPECT_EQ(chosen({script(folder, "mpiexec.hydra", "echo HYDRA build details"), open_mpi}),
            "libweft_record_openmpi.so");
  fs::remove(folder.path("libweft_record_openmpi.so"));
  EXPECT_EQ(chosen({neither}), "libweft_record_mpich.so");
  EXPECT_THAT(chosen({open_mpi}), AllOf(HasSubstr("b (libmpi.so.40)"), HasSubstr("not supported"),
                                        HasSubstr("libweft_record_openmpi.so is missing")));
}

TEST(RecorderChoice, ProgramsThatCannotBeRecordedAreRefusedBeforeTheyRun) {
  const TempDir folder;
  std::ofstream(folder.path("libweft_record_mpich.so"));
  const auto refusal = [&](const Words& words) {
    const auto choice = choose_library(words, folder.path());
    EXPECT_FALSE(choice);
    if (!choice) {
      EXPECT_EQ(choice.error().code, ErrorCode::kNotSupported);
    }
    return choice ? std::string() : choice.error().message();
  };
  EXPECT_THAT(refusal({"mpirun", elf(folder, "static", "", "MPI_Init")}),
              AllOf(HasSubstr("/static, which has its MPI library inside"), HasSubstr("linked dynamically")));
  EXPECT_THAT(refusal({loads(folder, "old", "libmpi.so.20")}),
              AllOf(HasSubstr("old (libmpi.so.20)"), HasSubstr("libmpi.so.40"), HasSubstr("libmpich.so.12")));
  // Beside one that could be recorded, before it or after it: its ranks would be missing.
  const std::string good = loads(folder, "good", "libmpich.so.12");
  const std::string bad = elf(folder, "inside", "", "MPI_Init");
  const std::string foreign = loads(folder, "foreign", "libmpi_abi.so.0");
  for (const Words& words : {Words{"mpirun", "-n", "1", good, ":", "-n", "1", bad},
                             Words{"mpirun", "-n", "1", bad, ":", "-n", "1", good}})
    EXPECT_THAT(refusal(words), HasSubstr("/inside, which has its MPI library inside"));
  EXPECT_THAT(refusal({"mpirun", good, ":", foreign}), HasSubstr("foreign (libmpi_abi.so.0)"));
  // A tool's library before a program, and what a program is given behind it, run no ranks.
  for (const Words& words :
       {Words{"mpirun", "-genv", "LD_PRELOAD", bad, good}, Words{"mpirun", good, bad, foreign}})
    EXPECT_TRUE(choose_library(words, folder.path()));
  // A static program of something else is none of our business.
  EXPECT_TRUE(choose_library({elf(folder, "other", "", "main")}, folder.path()));
}

TEST(RecorderChoice, DamagedProgramsAreNoPrograms) {
  const TempDir folder;
  const std::string whole = elf_bytes("", "MPI_Init");
  const auto inside = [&](const std::string& bytes) {
    std::ofstream(folder.path("p"), std::ios::binary | std::ios::trunc) << bytes;
    return mpi_of_program(folder.path("p")).has_inside;
  };
  EXPECT_TRUE(inside(whole));
  for (std::size_t n = 0; n < whole.size() - 2; ++n) EXPECT_FALSE(inside(whole.substr(0, n))) << n;
  const unsigned seed = std::random_device{}();
  std::mt19937 draw(seed);
  SCOPED_TRACE(fmt::format("seed {}", seed));
  for (int round = 0; round < 2000; ++round) {
    std::string bytes = whole;
    for (int i = 0; i < 4; ++i) bytes[draw() % bytes.size()] = static_cast<char>(draw());
    static_cast<void>(inside(bytes));  // any answer, no crash
  }
}

TEST(RecorderLaunch, UsersOwnPreloadComesAfterTheRecorder) {
  const std::string ours = "/w/libweft_record_x.so";
  const auto told = [&](Words words, Launcher launcher) {
    return exported_command(std::move(words), launcher, ours);
  };
  EXPECT_THAT(told({"mpirun", "-n", "2", "a"}, {Abi::kOpenMpi}),
              ElementsAreArray(Words{"mpirun", "-x", "LD_PRELOAD", "-x", "WEFT_RECORD_DIR", "-x",
                                     "WEFT_RECORD_CLOCK", "-n", "2", "a"}));
  EXPECT_THAT(told({"mpirun", "-x", "LD_PRELOAD=t.so", "a"}, {Abi::kOpenMpi}),
              ElementsAreArray(Words{"mpirun", "-x", "WEFT_RECORD_DIR", "-x", "WEFT_RECORD_CLOCK", "-x",
                                     "LD_PRELOAD=" + ours + ":t.so", "a"}));
  // Its own list of variables, which it refuses -x beside.
  const std::string list = "mca_base_env_list";
  for (const char* option : {"-mca", "--mca", "-gmca", "--gmca"})
    EXPECT_THAT(told({"mpirun", option, list, "A=1;B", "a"}, {Abi::kOpenMpi}),
                ElementsAreArray(Words{"mpirun", option, list,
                                       "A=1;B;LD_PRELOAD;WEFT_RECORD_DIR;WEFT_RECORD_CLOCK", "a"}));
  EXPECT_THAT(
      told({"mpirun", "--mca", list, "A=1;LD_PRELOAD=t.so;B", "a"}, {Abi::kOpenMpi}),
      ElementsAreArray(Words{"mpirun", "--mca", list,
                             "A=1;LD_PRELOAD=" + ours + ":t.so;B;WEFT_RECORD_DIR;WEFT_RECORD_CLOCK", "a"}));
  EXPECT_THAT(
      told({"mpirun", "--mca", list, "A=1,B", "--mca", list + "_delimiter", ",", "a"}, {Abi::kOpenMpi}),
      ElementsAreArray(Words{"mpirun", "--mca", list, "A=1,B,LD_PRELOAD,WEFT_RECORD_DIR,WEFT_RECORD_CLOCK",
                             "--mca", list + "_delimiter", ",", "a"}));
  // PRRTE's has no other delimiter: this is one variable, and stays what it was.
  EXPECT_THAT(
      told({"mpirun", "--mca", list, "A=1,B", "--mca", list + "_delimiter", ",", "a"}, {Abi::kOpenMpi, true}),
      ElementsAreArray(Words{"mpirun", "--mca", list, "A=1,B;LD_PRELOAD;WEFT_RECORD_DIR;WEFT_RECORD_CLOCK",
                             "--mca", list + "_delimiter", ",", "a"}));
  EXPECT_THAT(told({"mpiexec", "-n", "2", "a"}, {Abi::kMpich}),
              ElementsAreArray(Words{"mpiexec", "-n", "2", "a"}));
  EXPECT_THAT(told({"mpiexec", "-genv", "LD_PRELOAD", "t.so", "a"}, {Abi::kMpich}),
              ElementsAreArray(Words{"mpiexec", "-genv", "LD_PRELOAD", ours + ":t.so", "a"}));
  EXPECT_THAT(told({"./a", "-x"}, {Abi::kNone}), ElementsAreArray(Words{"./a", "-x"}));
}

// First lines of what the launchers of Open MPI 4.1.4 and 5.0.7, PRRTE 3.0.8, MPICH 4.0.2 and Intel MPI 2021 print.
TEST(RecorderLaunch, LaunchersSayWhoseTheyAre) {
  const TempDir folder;
  const auto said = [&](const std::string& name, const std::string& version) {
    return launcher_of(script(folder, name, "echo '" + version + "'"));
  };
  const auto is = [](Abi abi, bool prrte) {
    return AllOf(::testing::Field(&Launcher::abi, abi), ::testing::Field(&Launcher::prrte, prrte));
  };
  EXPECT_THAT(said("mpirun", "mpirun (Open MPI) 4.1.4"), is(Abi::kOpenMpi, false));
  EXPECT_THAT(said("mpirun.openmpi", "mpirun.openmpi (Open MPI) 5.0.7"), is(Abi::kOpenMpi, true));
  EXPECT_THAT(said("mpiexec", "mpiexec (Open MPI) 10.0.1"), is(Abi::kOpenMpi, true));
  EXPECT_THAT(said("orterun", "orterun (OpenRTE) 4.1.4"), is(Abi::kOpenMpi, false));
  EXPECT_THAT(said("prterun", "prterun (PRRTE) 3.0.8"), is(Abi::kOpenMpi, true));
  EXPECT_THAT(said("mpiexec.hydra", "HYDRA build details:"), is(Abi::kMpich, false));
  EXPECT_THAT(said("mpirun", "Intel(R) MPI Library for Linux* OS, Version 2021.5"), is(Abi::kMpich, false));
  EXPECT_THAT(said("mpirun", "something else"), is(Abi::kNone, false));
  EXPECT_THAT(said("run", "mpirun (Open MPI) 4.1.4"), is(Abi::kNone, false));
}

}  // namespace
}  // namespace weft::recorder::testing
