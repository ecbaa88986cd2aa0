#!/usr/bin/env python3
"""Platform of Gros (Grid'5000, Nancy; 124 nodes, one Xeon Gold 5220 each, 25 Gb Ethernet) and predictions of HPL on it, before any run was looked at.

  python3 bench/studies/gros.py WEFT --thesis T [--platform FILE] [--predict CSV] [--threads N]

T: checkout of github Ezibenroc/thesis; of it data/prediction/modeling/network/pycewise alone is read (messages between two nodes of gros,
copies within a node of dahu). docs/validation-gros.md has every constant with its source.
"""
import argparse
import concurrent.futures
import csv
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

from program import program

NODES, CORES = 124, 18
# dgemm of a core while all work, Gflop/s: mean and deviation over the nodes, from 27.8 to 31.1, and the same test on CPUs of dahu whose
# times by k are known (dahu's node and CPU: rate there, ps a flop pair with k = 128 in platforms/dahu.textproto).
MEAN, SPREAD, LEAST, MOST = 29.2, 0.75, 27.8, 31.1
TWINS = {(0, 0): 27.8, (7, 0): 28.9, (7, 1): 29.9, (8, 0): 29.8, (8, 1): 29.8}
PORT, LATENCY = "2.94GB/s", "7.4us"
SIZES = range(50000, 500001, 50000)
GRIDS = [(36, 62), (31, 72)]


def fit(weft, words):
    run = subprocess.run([weft, "fit", "network"] + words + ["-o", "-", "--quiet"], capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    return run.stdout[run.stdout.index("mpi {"):]


def platform(weft, thesis, dahu):
    data = os.path.join(thesis, "data/prediction/modeling/network/pycewise")
    mpi = fit(weft, [os.path.join(data, "pycewise_data.csv"), "--cluster", "gros", "--latency", LATENCY, "--bandwidth", PORT])
    copies = fit(weft, [os.path.join(data, "pycewise_data.csv"), os.path.join(data, "memcpy_small.csv"), "--cluster", "dahu",
                        "--latency", "200ns", "--eager-limit", "8132B"])
    local = [l for l in (dahu + "\n" + copies).split("\n") if re.match(r"\s*local_transfer", l)]
    local = list(dict.fromkeys(l.strip() for l in local))[:8]
    mpi = mpi.rstrip()[:-1] + "".join("  %s\n" % l for l in local) + "}\n"
    level = []
    for (host, socket), rate in TWINS.items():
        found = re.search(r'group \{ hosts: "%d" socket: %d .*?for_k: "96-191" intercept: "0us" mnk: "([0-9.]+)ps"' % (host, socket), dahu)
        level.append(float(found.group(1)) * rate)
    mean = float(re.search(r'\n  kernel \{ name: "dgemm" for_k: "96-191" intercept: "0us" mnk: "([0-9.]+)ps"', dahu).group(1))
    scale = statistics.mean(level) / MEAN / mean  # of dahu's mean CPU
    kernels = re.findall(r"\n  kernel \{[^}]*\}", dahu)
    out = '''# Gros cluster (Grid'5000, Nancy). Made by bench/studies/gros.py from public calibrations; no figure is from a run of HPL (docs/validation-gros.md).
name: "gros"
summary: "Gros (Grid'5000, Nancy): 124 hosts x 18 cores (Xeon Gold 5220), 25 Gb Ethernet, one switch"
source: "nodes and switch: github grid5000/reference-repository, sites/nancy (sgros1: every node's first port, 25 Gb/s)"
source: "messages: github Ezibenroc/thesis, data/prediction/modeling/network/pycewise, cluster gros"
source: "dgemm: github Ezibenroc/mpi_calibration, G5K_testing_changes.ipynb (average rates by node, read from a plot); by k as dahu"
source: "assumed: other kernels, copies within a node and the scatter of a call as on dahu"
'''
    out += 'topology { family: "crossbar" set: "n=%d" set: "bw=%s" set: "lat=3.7us" }\nhost {\n  speed: "35.2Gflops"\n  ranks: %d\n' % (NODES, PORT, CORES)
    scaled = lambda m: '%s: "%.6g%s"' % (m[1], float(m[2]) * scale, m[3])
    for k in kernels:
        if 'name: "dgemm"' in k:
            k = re.sub(r'\b(intercept|mnk|mn|mk|nk): "([0-9.]+)(us|ps)"', scaled, k)
        out += k.replace("\n", "", 1) + "\n"
    # Nodes differ, by their clocks; which is which is read off no table, so the distribution is dealt out by a fixed seed.
    rates = [min(max(statistics.NormalDist(MEAN, SPREAD).inv_cdf((i + 0.5) / NODES), LEAST), MOST) for i in range(NODES)]
    random.Random(1).shuffle(rates)
    for host, rate in enumerate(rates):
        out += '  group { hosts: "%d" slowdown: "%.4f" }\n' % (host, MEAN / rate)
    return out + "}\n" + mpi


def predict(weft, path, n, p, q):
    words = [weft, "predict", "hpl", "--on", path, "--n", str(n), "--nb", "128", "--p", str(p), "--q", str(q), "--depth", "1", "--bcast", "2rg",
             "--swap", "bin-exch", "--pfact", "crout", "--rfact", "right", "--nbmin", "2", "--noise", "--seed", "1", "--sample", "--threads", "1",
             "--exchanges=series", "--quiet", "--json", "-"]
    got = subprocess.run(words, capture_output=True, text=True)
    if got.returncode:
        sys.exit(got.stderr)
    return json.loads(got.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--thesis", required=True)
    parser.add_argument("--platform", default=None)
    parser.add_argument("--predict", metavar="CSV")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    weft = program(options.weft)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "../../platforms/dahu.textproto")) as f:
        dahu = f.read()
    path = options.platform or os.path.join(tempfile.mkdtemp(prefix="gros-"), "gros.textproto")
    with open(path, "w") as f:
        f.write(platform(weft, options.thesis, dahu))
    if not options.predict:
        return
    pool = concurrent.futures.ThreadPoolExecutor(options.threads)
    jobs = [(n, p, q) for n in SIZES for p, q in GRIDS]
    got = list(pool.map(lambda j: predict(weft, path, *j), jobs))
    with open(options.predict, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["N", "P", "Q", "predicted_gflops", "estimate", "predicted_time_s"])
        for (n, p, q), g in zip(jobs, got):
            out.writerow([n, p, q, "%.0f" % g["gflops"], "" if g["error_estimate"] is None else "%.3f" % g["error_estimate"], "%.2f" % g["time_s"]])
            print("| %s | %d x %d | %s | %s |" % (format(n, ","), p, q, format(round(g["gflops"]), ","),
                                                   "-" if g["error_estimate"] is None else "%.1f %%" % (100 * g["error_estimate"])), flush=True)


main()
