// What the closed forms of a prediction take from the platform and the run.
#include <gtest/gtest.h>

#include "predict/hpl_prediction.hpp"
#include "tests/predict/support.hpp"

namespace weft::predict {
namespace {

// Four nodes of four ranks on a 4 x 4 grid: which ranks share a port decides the phase model.
TEST(ClosedForms, ThePhaseModelLaysTheGridOnNodesAsTheProgramDoes) {
  const auto platform = platform_of("crossbar:n=4,ranks_per_host=4,bw=1Gbps");
  const auto phases = [&](hpl_gen::ProcessMap map, int local_p, int local_q) {
    hpl_gen::HplConfig c{.n = 2048, .nb = 64, .p = 4, .q = 4, .pmap = map};
    c.program = hpl_gen::Program::kRocHpl;
    c.rochpl.local_p = local_p;
    c.rochpl.local_q = local_q;
    const auto forms = closed_forms(c, platform, {});
    EXPECT_TRUE(forms) << (forms ? "" : forms.error().message());
    return forms ? forms->phases : 0;
  };
  using hpl_gen::ProcessMap;
  const double columns = phases(ProcessMap::kColumnMajor, 0, 0), rows = phases(ProcessMap::kRowMajor, 0, 0);
  EXPECT_NE(columns, rows);
  EXPECT_EQ(phases(ProcessMap::kColumnMajor, 4, 1), columns);
  EXPECT_EQ(phases(ProcessMap::kColumnMajor, 1, 4), rows);
  EXPECT_EQ(phases(ProcessMap::kRowMajor, 4, 1), rows) << "row by row, whatever the nodes are";
  const double squares = phases(ProcessMap::kColumnMajor, 2, 2);
  EXPECT_NE(squares, columns);
  EXPECT_NE(squares, rows);
}

}  // namespace
}  // namespace weft::predict
