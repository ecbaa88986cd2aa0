// MPI costs of a platform from measured messages: what `weft fit network` does.
//
// Inputs, any number of files together:
//  - CSV experiment,msg_size,duration [,cluster] (seconds) with experiments send, isend, recv (time of the call) and
//    pingpong (round trip);
//  - CSV size,duration: copies within a host;
//  - OSU latency output, IMB PingPong output: one-way times; OSU bandwidth output: messages that follow each other.
// Method, with s = payload bytes:
//  1. every experiment becomes a segmented line (least_squares.hpp);
//  2. a blocking send (else a receive) that lasts half the one-way time or longer waits for the other side: the largest
//     size whose call, the median of its repetitions, is shorter is the eager limit (unless it is given);
//  3. for eager sizes  one_way(s) = send(s) + latency(s) + s / bandwidth(s) + recv(s); a rendezvous' calls wait anyway,
//     so there one_way(s) = latency(s) + s / bandwidth(s). The rest is cut into segments anew, on either side of the
//     limit; its intercept over the route's latency is latency_factor, its slope gives bandwidth_factor;
//  4. a latency below the route's own is impossible: recv as measured alone contains work that a ping-pong overlaps, so
//     it is lowered by what is missing (recv_lowered_by);
//  5. a bandwidth test's time per message is a segmented line too (stream): its largest rate is the link's
//     bandwidth. Without such a test and without NetworkFitOptions::bandwidth, one-way times show a bandwidth only
//     where the largest message spends at least half of its time in its bytes; else the bandwidth stays unknown. No line
//     of step 3 is flatter than the bandwidth, which is a bound of its fit;
//  6. isend measured and send not: a blocking send of an eager message costs the same call, so send is taken as isend.
//  7. messages under load are segmented lines of their own. An intercept up to the interval between polls is the time
//     until the other side polls, which a replay has itself: it is left out; a larger one stays (loaded_transfer,
//     loaded_local_transfer). Eager sizes stay out: their data come before the poll.
//
// What comes out is a fragment that the platform reader takes, or an error that says which measurement is missing.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/numbers/least_squares.hpp"
#include "core/result.hpp"
#include "topology/fit/measurements.hpp"

namespace weft::topology::fit {

struct NetworkFitOptions {
  std::string cluster;            // rows of others are left out; needed if a file holds several
  double latency = 0;             // s, of the platform's route; 0 = the smallest that the data show
  double bandwidth = 0;           // bytes/s, narrowest of the route; 0 = the largest that the data show
  std::int64_t eager_limit = -1;  // bytes; -1 = found
  std::vector<double> breaks;     // of the transfer segments; empty = found
  std::size_t max_segments = 8;
  double poll_interval = 500e-6;  // s, of the loaded measurement
};

struct NetworkFit {
  NetworkFitOptions options;  // latency, bandwidth, eager limit as used
  std::vector<LineSegment> one_way;
  std::vector<LineSegment> send, isend, recv;  // as measured
  std::vector<LineSegment> transfer;           // latency + s / bandwidth: one_way less the calls
  std::vector<LineSegment> local;
  std::vector<LineSegment> stream;                // time per message of a bandwidth test
  std::vector<LineSegment> loaded, loaded_local;  // one way while all cores compute and poll
  double recv_lowered_by = 0;                     // s
  bool bandwidth_unknown = false;  // options.bandwidth is 0: the messages were too small to show it
  bool send_as_isend = false;
  double largest = 0;  // bytes, of the one-way times
  bool found_eager_limit = false;
  std::vector<std::string> ignored;                       // experiments that nothing was made of
  std::vector<std::pair<std::string, std::size_t>> read;  // what was used, with its rows

  // Platform fragment: mpi { ... }, with what the topology must say in a comment.
  [[nodiscard]] std::string textproto() const;
};

// `loaded`: the same experiments while all cores of the hosts compute and poll in between.
[[nodiscard]] Result<NetworkFit> fit_network(const std::vector<Measurements>& data,
                                             const NetworkFitOptions& options,
                                             const std::vector<Measurements>& loaded = {});

}  // namespace weft::topology::fit
