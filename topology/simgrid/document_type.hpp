// Which attributes and elements an element of a SimGrid platform file may have (simgrid.dtd of versions 4 and 4.1): a misspelled one
// would be left out in silence, and the platform be another.
#pragma once

#include "core/result.hpp"
#include "topology/graphs/xml_text.hpp"

namespace weft::topology::simgrid {

// `platform` and all that is in it. What stands in a platform or netzone itself is for its reader to know. Error: kBadInput.
[[nodiscard]] Result<void> check_document(const XmlElement& platform);

}  // namespace weft::topology::simgrid
