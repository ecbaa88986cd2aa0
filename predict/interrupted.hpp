// Thrown by a replay's on_progress, and caught by who started the replay: the user asked for an end.
#pragma once

namespace weft::predict {

struct Interrupted {};

}  // namespace weft::predict
