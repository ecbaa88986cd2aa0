"""Commands whose --json is held against its schema, and the files that they read."""

import pathlib
import re
import shlex
import shutil
import subprocess


def latencies(sizes):
    """As the OSU benchmarks print it: of so many sizes from 1 byte."""
    return "# OSU MPI Latency Test v7.3\n# Size          Latency (us)\n" + "".join(f"{2**i}  {2 + 2**i / 1e4}\n" for i in range(sizes))


HPL = "generate hpl --n 400 --nb 50 --p 2 --q 2 -o T.weft"
DEVICE = "--program rochpl --n 2000 --nb 100 --p 2 --q 2"
NODES = 'crossbar:n=4,bw=10GB/s,lat=1us,speed=5Gflops'
DEADLOCK = "0 init\n1 init\n0 recv 1 0 8 6\n1 recv 0 0 8 6\n0 finalize\n1 finalize\n"
ALONE = "0 init\n1 init\n0 compute 1e6\n1 compute 1e6\n0 finalize\n1 finalize\n"
UNMATCHED = "0 init\n1 init\n0 send 1 0 8 6\n0 finalize\n1 finalize\n"
# On NODES rank 1's message is there 2 ns before rank 2's: links that are 1 % faster turn the match round.
RACE = ("".join(f"{r} init\n" for r in range(4)) + "0 recv -555 0 8 6\n0 recv 2 0 8 6\n1 compute 529990\n1 send 0 0 8 6\n"
        "3 send 2 0 1000000 6\n2 recv 3 0 1000000 6\n2 send 0 0 8 6\n" + "".join(f"{r} finalize\n" for r in range(4)))
COLLECTIVES = "".join(f"{r} {op}\n" for op in ("init", "compute 1e6", "bcast 4096 0 6", "allreduce 64 0 6", "barrier", "finalize")
                      for r in range(4))
TIMES = "m,n,k,seconds\n" + "".join(f"{m},200,{k},{2e-6 + 8e-11 * m * 200 * k}\n" for k in (64, 128) for m in range(100, 2100, 100))
RATES = "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n" + "".join(f"{2**i}  {2**i / (1 + 2**i / 1e4):.2f}\n" for i in range(23))
CALLS = "experiment,msg_size,duration\n" + "".join(
    f"{what},{2**i},{base + 2**i / 1e10}\n"
    for what, base in (("pingpong", 4e-6), ("send", 2e-7), ("isend", 2e-7), ("recv", 3e-7), ("local", 5e-7)) for i in range(4, 21))
LOADED = "experiment,msg_size,duration\n" + "".join(
    f"{what},{2**i},{base + 2**i / 1e9}\n" for what, base in (("pingpong", 8e-6), ("local", 5e-6)) for i in range(4, 21))
ACCELERATOR = """topology { family: "crossbar" set: "n=8" set: "bw=10GB/s" set: "lat=1us" }
host { speed: "1Tflops" kernel { name: "device_dgemm" rate: "1Tflops" } kernel { name: "dgemm" rate: "1Tflops" }
       kernel { name: "*" intercept: "0" } }
"""
PROGRAM = """#include <mpi.h>
int main(int argc, char** argv) { MPI_Init(&argc, &argv); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize(); }
"""
FILES = {
    "deadlock.txt": DEADLOCK, "unmatched.txt": UNMATCHED, "collectives.txt": COLLECTIVES, "times.csv": TIMES, "osu.txt": latencies(23), "small.txt": latencies(9), "alone.txt": ALONE, "race.txt": RACE, "rates.txt": RATES, "calls.csv": CALLS,
    "loaded.csv": LOADED, "device.textproto": ACCELERATOR, "program.c": PROGRAM,
    "mixed.routes": "L 0 a 1e9 1e-6\nL 1 b 2e9 2e-6\nR 0 1 0 1\nR 1 0 1\n",
    "cut.routes": "L 0 a 1e9 1e-6\nL 1 b 1e9 1e-6\nR 0 1 0 1\n",
    "flows.csv": "src,dst,bytes,start\n0,1,1MiB,0\n2,1,1MiB,1us\n1,1,1KiB,0\n",
}
BANDWIDTHS = "--set bw=1GB/s,10GB/s"
TWO = f"--on slow=torus:dims=2x2,bw=1GB/s,lat=1us,speed=5Gflops --on '{NODES}'"

# (schema, command, exit code). In this order: later ones read what earlier ones wrote.
COMMANDS = [
    ("generate", HPL, 0),
    ("generate", "generate alltoall --ranks 4 --iterations 1 --bytes 64KiB -o A.weft", 0),
    ("generate", f"generate hpl {DEVICE} -o D.weft", 0),
    ("import", "import collectives.txt -o C.weft", 0),
    ("info", "info T.weft", 0),
    ("info", "info C.weft", 0),
    ("check", "check T.weft", 0),
    ("check", "check deadlock.txt", 1),
    ("export", "export A.weft --to goal -o A.goal", 0),
    ("export", "export T.weft --to text -o T.txt", 0),
    ("replay", f"replay T.weft --on '{NODES}'", 0),
    ("replay", f"replay T.weft --on label='{NODES}' --set bw=1GB/s --map cyclic --all-links", 0),
    ("replay", f"replay T.weft --on '{NODES}' --critical-path --explain --sensitivity --wait-states", 0),
    ("replay", f"replay C.weft --on '{NODES}' --wait-states --collectives openmpi4 --noise --seed 3", 0),
    ("replay", f"replay A.weft --on '{NODES}' --critical-path --accuracy 0.01 --threads 2", 0),
    ("replay", f"replay T.weft --on '{NODES}' --raw=detached --raw-switch 1KiB --header 16B --weights rtt", 0),
    ("replay", "replay A.weft --on cs-storm --model pcie", 0),
    ("replay", "replay A.weft --on cs-storm --accuracy 0.01", 0),
    ("replay", f"replay T.weft --on '{NODES}' --verify", 0),
    ("replay", "replay A.weft --with A.weft --on torus:dims=4x2 --map strided:2", 0),
    ("replay", "replay D.weft --on device.textproto", 0),
    ("replay", f"replay deadlock.txt --on '{NODES}'", 1),
    ("replay", "replay deadlock.txt --with A.weft --on crossbar:n=8", 1),
    ("replay", f"replay unmatched.txt --on '{NODES}'", 1),
    ("replay", f"replay alone.txt --on '{NODES}' --sensitivity --wait-states", 0),
    ("replay", f"replay race.txt --on '{NODES}' --sensitivity", 0),
    ("replay", "replay A.weft --with A.weft --on dragonfly:p=2,a=4,h=2,routing=ugal-u", 0),
    ("compare", f"compare T.weft A.weft {TWO} --map block --map random", 0),
    ("compare", f"compare T.weft {TWO} --critical-path --set lat=2us", 0),
    ("compare", f"compare deadlock.txt {TWO}", 1),
    ("compare", f"compare T.weft {TWO} --journal runs", 0),
    ("compare", f"compare T.weft {TWO} --verify", 0),
    ("report", f"report T.weft {TWO} -o page.html", 0),
    ("sweep", f"sweep T.weft {TWO} {BANDWIDTHS}", 0),
    ("sweep", f"sweep A.weft --on far=crossbar:n=4,lat=100us --on torus:dims=4,lat=1us,bw=1GB/s --set bw=10MB/s,1GB/s,100GB/s --bisect 3", 0),
    ("sweep", "sweep A.weft --on far=crossbar:n=4,lat=100us --on torus:dims=4,lat=1us,bw=1GB/s --set ranks_per_host=1,2 --set bw=10MB/s,100GB/s", 0),
    ("sweep", f"sweep T.weft {TWO} {BANDWIDTHS} --critical-path --journal shards --shard 1/2", None),
    ("sweep", f"sweep T.weft {TWO} {BANDWIDTHS} --critical-path --journal shards --shard 2/2", None),
    ("sweep", f"sweep T.weft {TWO} {BANDWIDTHS} --verify --journal verified", 0),
    ("merge", "merge shards", 0),
    ("merge", "merge runs", 0),
    ("flows", "flows flows.csv --on crossbar-16", 0),
    ("flows", "flows flows.csv --on crossbar-16 --accuracy 0.01 --weights rtt --header 16B", 0),
    ("flows", "flows flows.csv --on cs-storm", 0),
    ("flows", "flows flows.csv --on cs-storm --accuracy 0.01", 0),
    ("predict", f"predict hpl --on '{NODES}' --n 1000 --nb 50 --p 2 --q 2", 0),
    ("predict", f"predict hpl --on here='{NODES}' --n 4000 --nb 50 --p 2 --q 2 --sample --exchanges=series", 0),
    ("predict", f"predict hpl --on '{NODES}' --n 1000,2000 --nb 50 --p 2 --q 2 --journal predictions", 0),
    ("predict", f"predict hpl --on here='{NODES}' --n 1000,2000 --nb 50 --p 2 --q 2 --closed-form", 0),
    ("predict", f"predict hpl --on '{NODES}' --n 1000,2000 --nb 50 --p 2 --q 2 --repeat 2 --accuracy 0.01", 0),
    ("predict", f"predict hpl --on '{NODES}' --n 500 --nb 50 --p 1 --q 1 --bcast 0,1", 0),
    ("predict", f"predict hpl --on device.textproto {DEVICE}", 0),
    ("predict", f"predict hpl --on '{NODES}' {DEVICE}", 0),
    ("predict", "predict hpl --on device.textproto --program rochpl --n 20000 --nb 100 --p 2 --q 2 --sample 3", 0),
    ("merge", "merge predictions", 0),
    ("predict", "predict hpl --on cs-storm --n 500 --nb 50 --p 2 --q 2 --accuracy 0.01", 0),
    ("tune", f"tune hpl --on '{NODES}' --n 500 --nb 50,100 --p 2 --q 2 --evaluations 8", 0),
    ("tune", "tune hpl --on cs-storm --n 500 --nb 50,100 --p 2 --q 2 --evaluations 8 --accuracy 0.01", 0),
    ("tune", f"tune hpl --on here='{NODES}' --n 500 --nb 50,100 --p 2 --q 2 --evaluations 8 --accuracy 0.01 -o best.dat", 0),
    ("tune", "tune hpl --on device.textproto --program rochpl --n 500 --nb 50,100 --p 2 --q 2 --evaluations 8", 0),
    ("fit", "fit dgemm times.csv", 0),
    ("fit", "fit dgemm times.csv --for-k 64:1-100,128:101-200", 0),
    ("fit", "fit network calls.csv --loaded loaded.csv --poll-interval 1us", 0),
    ("fit", "fit network rates.txt", 0),
    ("fit", "fit network small.txt", 0),
    ("fit", "fit network osu.txt rates.txt -o osu.part", 0),
    ("search", "search halo --grid 2x2 --on cs-storm", 0),
    ("search", "search halo --grid 2x2 --on cs-storm --mode async", 0),
    ("search", "search halo --grid 2x2 --on cs-storm --place search", 0),
    ("search", "search halo --grid 4x3 --on cs-storm-16 --evaluations 200 --nodes 100", 0),
    ("search", "search halo --grid 4x2 --on cs-storm --journal schedules", 0),
    ("search", "search halo --grid 171x1 --on crossbar:n=171,bw=10GB/s,lat=1us --place search --evaluations 10 --nodes 10", 0),
    ("search", "search halo --grid 16x16 --on torus:dims=16x16,bw=10GB/s,lat=1us --evaluations 100 --nodes 100", 0),
    ("platform list", "platform list", 0),
    ("platform show", "platform show torus-16", 0),
    ("platform show", "platform show summit", 0),
    ("platform show", "platform show dahu", 0),
    ("platform show", "platform show routes:path=mixed.routes", 0),
    ("platform show", "platform show torus-16 --set host.sockets=2 --set host.socket_bandwidth=5GB/s", 0),
    ("platform check", "platform check torus-16", 0),
    ("platform check", "platform check routes:path=cut.routes", 1),
    ("route", "route 0 5 --on torus-16", 0),
    ("route", "route 1 0 --on routes:path=cut.routes", 1),
    ("selftest", "selftest", 0),
]
# Where an MPI is: its recorder is part of Weft.
RECORD = ("record", "record -o R.weft -- mpirun -n 2 ./program", 0)

# (schema, where, keys): the stable keys, which scripts rely on.
ALWAYS = "schema warnings command version"
HPL_KEYS = "n nb p q time_s gflops efficiency phases closed_form panels_simulated panels_total error_estimate engine"
PROMISED = [
    ("replay", (), f"{ALWAYS} trace platform model makespan_s fingerprint network_messages network_bytes regions links engine"),
    ("replay", ("trace",), "ranks ops messages bytes"), ("replay", ("platform",), "name hosts links"),
    ("replay", ("ranks", 0), "rank finish_s compute_s send_s recv_s wait_s collective_s"),
    ("replay", ("links", 0), "name bytes busy_s utilization peak_flows"), ("replay", ("regions", 0), "name count total_s"),
    ("replay", ("engine",), "events solves flows wall_s peak_rss_bytes"),
    ("compare", (), f"{ALWAYS} rows"),
    ("compare", ("rows", 0), "trace platform map routing makespan_s slowdown hosts switches links mean_hops worst_link worst_link_utilization why"),
    ("report", (), f"{ALWAYS} rows"),
    ("sweep", (), f"{ALWAYS} rows flips"), ("sweep", ("rows", 0), "set makespan_s"),
    ("flows", (), f"{ALWAYS} makespan_s flows"), ("flows", ("flows", 0), "id src dst bytes start_s finish_s route phases"),
    ("flows", ("flows", 0, "phases", 0), "from_s to_s rate_Bps factor bottleneck"),
    ("platform show", (), f"{ALWAYS} name hosts switches cables links diameter_hops mean_hops router_diameter_hops router_mean_hops bisection_links by_class"),
    ("platform show", ("by_class", "host"), "count bandwidth_Bps latency_s"),
    ("search", (), f"{ALWAYS} schedules_total schedules_evaluated proved_optimal proof best_s worst_s mean_s best_count distinct_times best steps wall_s"),
    ("search", ("best", 0), "rank sends"), ("search", ("steps", 0), "step start_s finish_s messages factors"),
    ("predict", (), f"{ALWAYS} {HPL_KEYS}"), ("predict", ("phases",), "pfact_s bcast_s swap_s update_s solve_s"),
    ("predict", ("closed_form",), "hpl_gflops mcl_gflops roofline_gflops"),
    ("check", (), f"{ALWAYS} ok findings"), ("merge", (), f"{ALWAYS} rows"),
    ("platform list", (), ALWAYS), ("platform check", (), ALWAYS), ("route", (), ALWAYS), ("info", (), ALWAYS), ("tune", (), ALWAYS),
]


def examples(source, folder, run, schemas):
    """The examples of the help pages whose verb has JSON, as COMMANDS; the files that they name are made in `folder`."""
    for command in ("generate alltoall --ranks 16 --iterations 1 -o T.weft", "export T.weft --to ti -o ti.txt",
                    "tune hpl --on crossbar-16 --n 400 --nb 50 --p 4 --q 4 --evaluations 8 -o HPL.dat"):
        run([*shlex.split(command), "--quiet"], folder)
    for name, text in (("FLOWS.csv", FILES["flows.csv"]), ("TIMES.csv", FILES["times.csv"]), ("PINGPONG.csv", latencies(23))):
        pathlib.Path(folder, name).write_text(text)
    for command in re.findall(r'^WEFT_EXAMPLE\("[a-z]+", "weft (.*?)"', pathlib.Path(source, "cli/verbs/examples.def").read_text(), re.M):
        words = shlex.split(command)
        name = next((n for n in (words[0], " ".join(words[:2])) if n in schemas), None)
        # Recordings need an MPI, journals an order; --json is there already.
        if name and name not in ("record", "merge") and not {"--json", "--journal"} & set(words):
            yield name, command, 0


def prepare(folder):
    for name, text in FILES.items():
        pathlib.Path(folder, name).write_text(text)


def program(folder):
    """Whether there is an MPI program to record."""
    if not (shutil.which("mpicc") and shutil.which("mpirun")):
        return False
    return subprocess.run(["mpicc", "program.c", "-o", "program"], cwd=folder, capture_output=True).returncode == 0
