#!/usr/bin/env python3
"""The studies of docs/studies.md: python3 bench/studies/studies.py WEFT STUDY [--out FOLDER] [--threads N] [--quick]

STUDY: top-switches, big-fft, snap, fat-tree-traffic, placement, two-jobs. Prints Markdown tables. Traces are generated
into FOLDER (default: a temporary one). Every run is the command line that is printed to stderr.
"""
import argparse
import inspect
import json
import os
import shlex
import subprocess
import sys
import tempfile

from program import program


class Study:
    def __init__(self, args):
        self.weft = program(args.weft)
        self.threads = args.threads
        self.quick = args.quick
        self.folder = args.out or tempfile.mkdtemp(prefix="weft-study-")
        os.makedirs(self.folder, exist_ok=True)

    def run(self, line, **files):
        words = [self.weft] + shlex.split(line)
        print("weft " + line, file=sys.stderr)
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"weft {line}: exit {done.returncode}\n{done.stderr}")
        return done.stdout

    def json(self, line):
        return json.loads(self.run(line + " --json -"))

    def trace(self, name, line):
        if not os.path.exists(os.path.join(self.folder, name)):
            self.run(f"generate {line} -o {name} --quiet")
        return name


def table(columns, rows):
    print("| " + " | ".join(columns) + " |")
    print("|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def top_switches(s):
    """Removal of top switches under HPL: tree 2;16,32;1,N;1,1, N = 1..16, block and random, 10 Mbit/s and 10 Gbit/s."""
    n, nb = (4096, 64) if s.quick else (8192, 128)
    trace = s.trace(f"hpl{n}.weft", f"hpl --n {n} --nb {nb} --p 16 --q 32")
    maps = ["block", "hpl-cols:16x32", "random"]
    for bw in ("10Mbps", "10Gbps"):
        on = f"xgft:h=2,m=16x32,w=1x16,lat=1us,speed=1Gflops,bw={bw}"
        values = ",".join("1x" + str(k) for k in range(1, 17))
        got = s.json(f"sweep {trace} --on {shlex.quote(on)} --set w={values} " +
                     " ".join("--map " + m for m in maps) + f" --seed 1 --threads {s.threads}")
        time = {(row["map"], int(row["set"]["w"][2:])): row["makespan_s"] for row in got["rows"]}
        print(f"HPL N = {n}, NB = {nb}, 16 x 32 ranks, {bw}\n")
        table(["top switches"] + [x for m in maps for x in (m + ", s", "to 16")],
              [[k] + [x for m in maps for x in (f"{time[m, k]:.4g}", f"{time[m, k] / time[m, 16]:.3f}")]
               for k in range(1, 17)])


def big_fft(s):
    """Big FFT on 100 ranks, one a node, without computation, over four machines (the paper's Fig. 4).

    The size of its transform is not published; 64^3 points are assumed."""
    trace = s.trace("fft.weft", "fft --flops off --cells 64x64x64")
    machines = {
        "of the catalogue": ["trinity", "stampede", "mira", "hopper"],
        "as PPT configures them (m-port n-tree for Stampede, Mira's fourth dimension 2)": [
            "trinity", "fat-tree:m=30,n=3,bw=54.5Gbps,lat=350ns", "bgq:dims=8x12x16x2x2", "hopper"],
    }
    for name, specs in machines.items():
        rows = []
        for m in ("block", "random"):
            on = " ".join("--on " + shlex.quote(spec) for spec in specs)
            got = s.json(f"compare {trace} {on} --set ranks_per_host=1 --map {m} --seed 1 --threads {s.threads}")
            rows += [[m, r["platform"], f"{r['mean_hops']:.2f}", f"{r['makespan_s'] * 1e3:.3f}", r["worst_link"],
                      f"{100 * r['worst_link_utilization']:.0f} %"] for r in got["rows"]]
        print(f"Machines {name}\n")
        table(["map", "machine", "mean hops", "time, ms", "worst link", "used"], rows)


def snap(s):
    """Strong scaling of a KBA sweep on Edison (the paper's Fig. 6), 24 ranks a node.

    200 operations a cell, angle and group at a core's peak: 10.4 ns, assumed; a mini-app runs far below the peak.
    """
    problems = [("1: 32x32x48, 192 angles, 8 groups", "--flops 200 --cells 32x32x48 --angles 192 --groups 8 --ichunk 8"),
                ("2: 64x32x48, 384 angles, 42 groups", "--flops 200 --cells 64x32x48 --angles 384 --groups 42 --ichunk 16")]
    grids = ["4x6", "6x8", "8x12", "12x16", "16x24", "24x32"] + ([] if s.quick else ["32x48"])
    for number, (name, keys) in enumerate(problems):
        rows = []
        first = None
        for grid in grids[: len(grids) if number == 0 else 5]:
            trace = s.trace(f"snap{number}-{grid}.weft", f"sweep --grid {grid} {keys}")
            got = s.json(f"replay {trace} --on edison")
            ranks = got["trace"]["ranks"]
            first = first or (ranks, got["makespan_s"])
            speedup = first[1] / got["makespan_s"]
            compute = sum(r["compute_s"] for r in got["ranks"]) / max(sum(r["finish_s"] for r in got["ranks"]), 1e-30)
            rows.append([ranks, grid, f"{got['makespan_s'] * 1e3:.2f}", f"{speedup:.2f}",
                         f"{100 * speedup * first[0] / ranks:.0f} %", f"{100 * compute:.0f} %"])
        print(name + "\n")
        table(["ranks", "grid", "time of a sweep, ms", "speed-up", "efficiency", "computing"], rows)


def fat_tree_traffic(s):
    """FT(4,3), 16 hosts, 1,024 B messages at FDR's 54.5 Gbit/s and 0.7 us a link: the mean time of a message."""
    on = "fat-tree:m=4,n=3,bw=54.5Gbps,lat=700ns"
    rows = []
    for window in (1, 100):
        for total in (500, 1000, 2000, 4000, 8000):
            each = max(1, total // 16)
            cells = [window, total]
            for kind in ("neighbor --sides one", "random"):
                name = f"{kind.split()[0]}-{window}-{total}.weft"
                s.trace(name, f"{kind} --ranks 16 --messages {each} --window {window} --bytes 1KiB --seed 1")
                got = s.json(f"replay {name} --on {on} --raw")
                c = got["costs"]["network"]
                mean = (c["latency_s"] + c["transfer_s"] + c["contention_s"]) / c["messages"]
                cells += [f"{c['hops'] / c['messages']:.2f}", f"{mean * 1e6:.3f}"]
            rows.append(cells)
    table(["at a time", "messages", "neighbour: hops", "us a message", "random: hops", "us a message"], rows)


def placement(s):
    """What a placement that knows HPL's grid gains on a tapered tree."""
    n = 8192 if s.quick else 16384
    trace = s.trace(f"hpl{n}-8x16.weft", f"hpl --n {n} --nb 256 --p 8 --q 16")
    maps = ["block", "cyclic", "random", "switch", "strided:8", "hpl-rows:8x16", "hpl-cols:8x16"]
    got = s.json(f"compare {trace} --on 'xgft:h=2,m=16x8,w=1x4,bw=1Gbps,lat=500ns' " +
                 " ".join("--map " + m for m in maps) + f" --seed 1 --threads {s.threads}")
    table(["map", "time, s", "slowdown", "mean hops", "worst link", "used"],
          [[r["map"], f"{r['makespan_s']:.4g}", f"{r['slowdown']:.3f}", f"{r['mean_hops']:.2f}", r["worst_link"],
            f"{100 * r['worst_link_utilization']:.0f} %"] for r in got["rows"]])


def two_jobs(s):
    """A halo exchange beside an all-to-all on one tapered tree: how much each slows the other."""
    halo = s.trace("halo.weft", "halo --dims 8x8 --bytes 1MB --iterations 20")
    a2a = s.trace("a2a.weft", "alltoall --ranks 64 --bytes 256KiB --iterations 4")
    on = "xgft:h=2,m=16x8,w=1x4"
    rows = []
    for first, second in (("block", "block"), ("strided:2", "block"), ("random", "random")):
        got = s.json(f"replay {halo} --with {a2a} --on {on} --map {first} --with-map {second} --seed 1")
        for job in got["jobs"]:
            rows.append([f"{first} / {second}", job["trace"], f"{job['alone_s'] * 1e3:.2f}",
                         f"{job['makespan_s'] * 1e3:.2f}", f"{job['slowdown']:.3f}"])
    table(["placement", "job", "alone, ms", "together, ms", "slowdown"], rows)


STUDIES = {"top-switches": top_switches, "big-fft": big_fft, "snap": snap, "fat-tree-traffic": fat_tree_traffic,
           "placement": placement, "two-jobs": two_jobs}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("study", choices=list(STUDIES) + ["all"])
    parser.add_argument("--out", help="folder of the traces, kept")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="smaller problems")
    args = parser.parse_args()
    study = Study(args)
    for name in STUDIES if args.study == "all" else [args.study]:
        print(f"## {name}\n\n{inspect.getdoc(STUDIES[name])}\n")
        STUDIES[name](study)
