// TraceWriter: writes a .weft file block by block; the file appears whole at finish() (core/files/atomic_file.hpp).
//
// Blocks of different ranks may interleave; blocks of one rank must come in program order. Memory: one encode buffer
// plus 16 bytes of index per block. docs/trace-format.md describes the bytes.
#pragma once

#include <memory>
#include <string>

#include "core/result.hpp"
#include "traces/trace.hpp"

namespace weft::traces {

class TraceWriter {
 public:
  // Errors (kBadInput): a header that no reader would take, such as one with the hosts of some ranks only; no file.
  [[nodiscard]] static Result<TraceWriter> create(const std::string& path, const TraceHeader& header);
  TraceWriter(TraceWriter&&) noexcept;
  TraceWriter& operator=(TraceWriter&&) noexcept;
  ~TraceWriter();

  // Communicator 0 (the world) exists from the start. Must be called before a block that uses the new id.
  [[nodiscard]] CommId add_communicator(const Communicator& comm);
  [[nodiscard]] RegionId add_region(const std::string& name);
  // At most kMaxBlockOps operations; block.first_op must continue the rank's program.
  void append(const OpBlock& block);
  // Writes the index and renames the file into place. Reports the first write error.
  [[nodiscard]] Result<void> finish();
  // So far; after finish() the size of the file.
  [[nodiscard]] std::uint64_t bytes_written() const;

 private:
  struct Impl;
  explicit TraceWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::traces
