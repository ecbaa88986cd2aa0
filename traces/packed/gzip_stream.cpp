#include "traces/packed/gzip_stream.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "core/check.hpp"
#include "core/source_pos.hpp"
#include "traces/packed/walk_archive.hpp"

namespace weft::traces {
namespace {

constexpr std::size_t kPackedBytes = 1u << 20, kUnpackedBytes = 1u << 16;
constexpr int kGzipOnly = 16 + MAX_WBITS;

// Of gzip, where deflate is the one method that there is.
constexpr std::string_view kMember = "\x1f\x8b\x08";

std::string_view left_of(const z_stream_s& z) {
  return {reinterpret_cast<const char*>(z.next_in), z.avail_in};
}

}  // namespace

void GzipStream::Close::operator()(z_stream_s* z) const {
  inflateEnd(z);
  delete z;
}

std::unique_ptr<GzipStream> GzipStream::open(const std::string& path) {
  std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  char first[2];
  if (file == nullptr || std::fread(first, 1, sizeof first, file.get()) != sizeof first) return nullptr;
  const Packing* const packing = packing_of({first, sizeof first});
  if (packing == nullptr || packing->extension != ".gz") return nullptr;
  std::rewind(file.get());
  return std::unique_ptr<GzipStream>(new GzipStream(path, std::move(file)));
}

GzipStream::GzipStream(const std::string& path, std::unique_ptr<std::FILE, Close> file)
    : path_(path),
      file_(std::move(file)),
      z_(new z_stream_s{}),
      packed_(kPackedBytes),
      unpacked_(kUnpackedBytes) {
  const int r = inflateInit2(z_.get(), kGzipOnly);
  if (r == Z_MEM_ERROR) throw std::bad_alloc();
  WEFT_CHECK(r == Z_OK, fmt::format("inflateInit2 gave {}", r));
}

bool GzipStream::read_on() noexcept {
  const std::string_view left = left_of(*z_);
  if (!left.empty()) std::memmove(packed_.data(), left.data(), left.size());
  const std::size_t n =
      std::fread(packed_.data() + left.size(), 1, packed_.size() - left.size(), file_.get());
  if (std::ferror(file_.get()) != 0) {
    errno_ = errno;
    fault_ = Fault::kRead;
  }
  z_->next_in = reinterpret_cast<Bytef*>(packed_.data());
  z_->avail_in = static_cast<uInt>(left.size() + n);
  return n > 0 && !failed();
}

bool GzipStream::another_member() noexcept {
  while (z_->avail_in < kMember.size() && read_on()) {
  }
  return left_of(*z_).starts_with(kMember);
}

std::string_view GzipStream::next() noexcept {
  if (ended_ || failed()) return {};
  z_->next_out = reinterpret_cast<Bytef*>(unpacked_.data());
  z_->avail_out = kUnpackedBytes;
  while (z_->avail_out > 0) {
    if (z_->avail_in == 0 && !read_on()) {
      if (!failed()) fault_ = Fault::kCut;
      return {};
    }
    const uInt before = z_->avail_in;
    const int r = inflate(z_.get(), Z_NO_FLUSH);
    read_ += before - z_->avail_in;
    if (r == Z_STREAM_END) {
      ended_ = !another_member();
      if (failed()) return {};
      if (ended_) break;
      inflateReset(z_.get());
    } else if (r != Z_OK) {
      fault_ = r == Z_MEM_ERROR ? Fault::kMemory : Fault::kData;
      return {};
    }
  }
  return {unpacked_.data(), kUnpackedBytes - z_->avail_out};
}

Error GzipStream::error(std::string_view of) const {
  if (fault_ == Fault::kMemory) throw std::bad_alloc();
  if (fault_ == Fault::kRead) return bad_input(path_, fmt::format("cannot read: {}", std::strerror(errno_)));
  const std::string why =
      fault_ == Fault::kCut
          ? "truncated gzip input"
          : fmt::format("gzip decompression failed: {}", z_->msg != nullptr ? z_->msg : "unknown reason");
  return bad_input(read_ > 0 ? BytePos{path_, read_}.text() : path_,
                   fmt::format("cannot unpack{}: {}", of, why));
}

}  // namespace weft::traces
