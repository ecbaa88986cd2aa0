// Files that the tests of predictions write: platforms as text, traces from memory. Gone with the object.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/files.hpp"
#include "tests/support/memory_trace.hpp"
#include "topology/platform/platform.hpp"
#include "traces/weft/copy.hpp"

namespace weft::predict {

using support::TempFile;

// The trace as a .weft file.
class TraceFile : public TempFile {
 public:
  TraceFile(const std::string& name, traces::TraceReader& trace) : TempFile(name) {
    const auto written = traces::copy_to_weft(trace, path());
    EXPECT_TRUE(written) << (written ? "" : written.error().message());
  }
};

inline topology::Platform platform_of(const std::string& spec) {
  auto p = topology::load_platform(spec);
  EXPECT_TRUE(p) << spec << ": " << (p ? "" : p.error().message());
  return p ? std::move(*p) : topology::Platform();
}
// A crossbar of `hosts` hosts; `host` is the text of its host message.
inline topology::Platform crossbar_of(int hosts, const std::string& host) {
  const TempFile f("platform.textproto", "topology { family: \"crossbar\" set: \"n=" + std::to_string(hosts) +
                                             "\" }\nhost { " + host + " }\n");
  return platform_of(f.path());
}

}  // namespace weft::predict
