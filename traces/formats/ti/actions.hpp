// The vocabulary of SimGrid's time-independent text: actions, datatype ids, wildcard values.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft::traces::ti {

// X(enumerator, spelling in the text).
// clang-format off
#define WEFT_TI_ACTIONS(X)                                                                                \
  X(kInit, "init")                                                                                        \
  X(kFinalize, "finalize")                                                                                \
  X(kCommSize, "comm_size")                                                                               \
  X(kCommSplit, "comm_split")                                                                             \
  X(kCommDup, "comm_dup") X(kLocation, "location") X(kCompute, "compute") X(kSleep, "sleep")              \
      X(kSend, "send") X(kIsend, "isend") X(kSsend, "Ssend") X(kSsendLower, "ssend") X(kIssend, "ISsend") \
          X(kIssendLower, "issend") X(kRecv, "recv") X(kIrecv, "irecv") X(kSendRecv, "sendRecv")          \
              X(kWait, "wait") X(kTest, "test") X(kWaitall, "waitall") X(kBarrier, "barrier")             \
                  X(kBcast, "bcast") X(kReduce, "reduce") X(kAllreduce, "allreduce")                      \
                      X(kAlltoall, "alltoall") X(kAlltoallv, "alltoallv") X(kGather, "gather")            \
                          X(kScatter, "scatter") X(kAllgather, "allgather") X(kAllgatherv, "allgatherv")  \
                              X(kGatherv, "gatherv") X(kScatterv, "scatterv")                             \
                                  X(kReduceScatter, "reducescatter") X(kScan, "scan") X(kExscan, "exscan")
// clang-format on

enum class Action : std::uint8_t {
#define WEFT_X(id, text) id,
  WEFT_TI_ACTIONS(WEFT_X)
#undef WEFT_X
};
inline constexpr std::string_view kActionNames[] = {
#define WEFT_X(id, text) text,
    WEFT_TI_ACTIONS(WEFT_X)
#undef WEFT_X
};

inline std::string known_actions() {
  std::string all = "one of";
  for (const std::string_view a : kActionNames) all += fmt::format(" {}", a);
  return all;
}

// Bytes of SimGrid's datatype ids (src/smpi/mpi/smpi_datatype.cpp); -1 = no such id. Id -1 (null) has 0
// bytes.
inline constexpr int kNoType = -1;
inline constexpr std::array<int, 58> kTypeBytes = {
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1,    // double int char short long
                                     // float byte longlong schar
                                     // uchar
    2, 4, 8, 8, 16, 4, 1, 1, 2, 4,   // ushort uint ulong ulonglong
                                     // ldouble wchar bool int8 int16
                                     // int32
    8, 1, 2, 4, 8, 8, 16, 32, 8, 8,  // int64 uint8..64 complex8
                                     // complex16 complex32 aint
                                     // offset
    8, 16, 16, 8, 8, 8, 16, 16,      // float_int long_int double_int
                                     // short_int 2int 2float 2double 2long
    4, 4, 8, 16, 8, 16, 32, 1, 2, 4, 8,
    16,  // Fortran real, real4..16, complex8..32, integer1..16
    kNoType, kNoType, kNoType, kNoType, kNoType, kNoType, kNoType, 1};  // 57 packed
static_assert(kTypeBytes.size() == 58);
inline constexpr std::int64_t kByteType = 6;
inline constexpr std::int64_t kDoubleType = 0;

// SimGrid's wildcard values (include/smpi/smpi.h), which a recorded trace may hold.
inline constexpr std::int64_t kSmpiAnySource = -555;
inline constexpr std::int64_t kSmpiProcNull = -666;
inline constexpr std::int64_t kSmpiAnyTag = -444;

// The action that a token names. A switch on length and first letter leaves one or two comparisons.
[[nodiscard]] inline std::optional<Action> find_action(std::string_view t) {
  const auto is = [&](Action a) { return t == kActionNames[static_cast<std::size_t>(a)]; };
  // The actions of a point-to-point program first; the rest by search.
  switch (t.size()) {
    case 4:
      if (is(Action::kWait)) return Action::kWait;
      if (is(Action::kSend)) return Action::kSend;
      if (is(Action::kRecv)) return Action::kRecv;
      break;
    case 5:
      if (is(Action::kIrecv)) return Action::kIrecv;
      if (is(Action::kIsend)) return Action::kIsend;
      break;
    case 7:
      if (is(Action::kCompute)) return Action::kCompute;
      break;
    default:
      break;
  }
  for (std::size_t i = 0; i < std::size(kActionNames); ++i)
    if (t == kActionNames[i]) return static_cast<Action>(i);
  return std::nullopt;
}

}  // namespace weft::traces::ti
