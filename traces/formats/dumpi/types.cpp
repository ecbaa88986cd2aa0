#include "traces/formats/dumpi/types.hpp"

#include <array>

namespace weft::traces::dumpi {
namespace {

// By handle, 0 error and 1 null first: as MPI_Type_size says them where long and pointers have 64 bits.
constexpr std::array<std::int8_t, kFirstUserType> kUsual = {-1, -1, 1, 1, 1, 1, 4, 2, 2, 4,  4,  8, 8, 4,
                                                            8,  16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20};
constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

using Size = std::optional<std::int64_t>;

Size times(Size a, Size b) {
  std::int64_t out = 0;
  if (!a || !b || *a < 0 || *b < 0 || __builtin_mul_overflow(*a, *b, &out) || out >= kMostBytes) return {};
  return out;
}
Size plus(Size a, Size b) {
  if (!a || !b || *a + *b >= kMostBytes) return {};
  return *a + *b;
}
Size sum(std::span<const std::int32_t> values) {
  Size out = 0;
  for (const std::int32_t v : values) out = v < 0 ? Size() : plus(out, v);
  return out;
}

}  // namespace

std::optional<std::int64_t> TypeSizes::of(std::int64_t type) const {
  if (const auto it = made_.find(type); it != made_.end() && it->second >= 0) return it->second;
  const auto& sizes = file_->type_sizes;
  const auto i = static_cast<std::size_t>(type);
  // Older versions of libdumpi write 0 for types that they do not know, such as long long.
  const bool said = i < sizes.size() && sizes[i] <= INT32_MAX;
  if (said && (sizes[i] != 0 || type >= kFirstUserType)) return sizes[i];
  if (type < kFirstUserType && kUsual[i] >= 0) return kUsual[i];
  return {};
}

void TypeSizes::define(const Record& r) {
  const auto value = [&r](std::size_t f) { return r.value[f]; };
  const auto lengths = [&](std::size_t f, std::size_t count) -> Size {
    if (value(f) != value(count)) return {};
    return sum(r.array(f));
  };
  const auto structure = [&](std::size_t count, std::size_t blocks, std::size_t types) -> Size {
    if (value(blocks) != value(count) || value(types) != value(count)) return {};
    Size all = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(value(count)); ++i)
      all = plus(all, times(r.array(blocks)[i], of(r.array(types)[i])));
    return all;
  };
  Size size;
  std::int64_t made = 0;
#define WEFT_MADE(call, ...)                                                       \
  case k##call: {                                                                  \
    constexpr Call kThis = k##call;                                                \
    const auto old = [&]() -> Size { return of(value(field<kThis, "oldtype">)); }; \
    size = __VA_ARGS__;                                                            \
    made = value(field<kThis, "newtype">);                                         \
    break;                                                                         \
  }
  switch (r.call) {
    WEFT_MADE(Type_contiguous, times(value(field<kThis, "count">), old()))
    WEFT_MADE(Type_vector,
              times(times(value(field<kThis, "count">), value(field<kThis, "blocklength">)), old()))
    WEFT_MADE(Type_hvector,
              times(times(value(field<kThis, "count">), value(field<kThis, "blocklength">)), old()))
    WEFT_MADE(Type_create_hvector,
              times(times(value(field<kThis, "count">), value(field<kThis, "blocklength">)), old()))
    WEFT_MADE(Type_create_indexed_block,
              times(times(value(field<kThis, "count">), value(field<kThis, "blocklength">)), old()))
    WEFT_MADE(Type_indexed, times(lengths(field<kThis, "lengths">, field<kThis, "count">), old()))
    WEFT_MADE(Type_hindexed, times(lengths(field<kThis, "lengths">, field<kThis, "count">), old()))
    WEFT_MADE(Type_create_hindexed,
              times(lengths(field<kThis, "blocklengths">, field<kThis, "count">), old()))
    WEFT_MADE(Type_dup, old())
    WEFT_MADE(Type_create_resized, old())
    case kType_create_darray:  // what a rank has of it depends on the distribution: the size of the file is taken
      made = value(field<kType_create_darray, "newtype">);
      break;
    case kType_struct:
      size = structure(field<kType_struct, "count">, field<kType_struct, "lengths">,
                       field<kType_struct, "oldtypes">);
      made = value(field<kType_struct, "newtype">);
      break;
    case kType_create_struct:
      size = structure(field<kType_create_struct, "count">, field<kType_create_struct, "blocklengths">,
                       field<kType_create_struct, "oldtypes">);
      made = value(field<kType_create_struct, "newtype">);
      break;
    case kType_create_subarray: {
      size = of(value(field<kType_create_subarray, "oldtype">));
      for (const std::int32_t n : r.array(field<kType_create_subarray, "subsizes">)) size = times(size, n);
      made = value(field<kType_create_subarray, "newtype">);
      break;
    }
    default:
      return;
  }
#undef WEFT_MADE
  if (made < kFirstUserType) return;
  const auto i = static_cast<std::size_t>(made);
  if (size && i < file_->type_sizes.size() && file_->type_sizes[i] != 0 &&
      file_->type_sizes[i] != static_cast<std::uint64_t>(*size))
    ++conflicts_;
  made_[made] = size.value_or(-1);
}

}  // namespace weft::traces::dumpi
