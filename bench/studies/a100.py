#!/usr/bin/env python3
"""NVIDIA's HPL 1.0 on one or two nodes of 2 to 4 A100, each run predicted from the microbenchmarks of its own log.

  python3 bench/studies/a100.py WEFT RUNS.csv [--out CSV] [--split S] [--set NAME=FACTOR ...] [--threads N] [--keep FOLDER]
  python3 bench/studies/a100.py WEFT RUNS.csv --sensitivity

RUNS.csv: one row a run, the log's microbenchmarks beside its N, NB, P, Q (hpl_measured.csv and hpl_to_predict.csv; github pkusc/ASC22_HPL).
Where RUNS.csv has gflops, prints the error by row and group, and what a predictor could reach that knows the parameters alone.
A platform a row is written from the microbenchmarks (docs/validation-a100.md says which constant is from which); no run of HPL sets one.
--copies links (default): copies are flows over the node's PCIe tree; durations: each takes its own time, as in the first set of predictions.
"""
import argparse
import concurrent.futures
import csv
import json
import os
import re
import statistics
import subprocess
import tempfile

from host_blas import host_blas
from program import program

# What the logs print and the table has not. Rates of the host's dgemm by NB (32, 64, 128, 256, 512), Gflop/s, of the cores of a rank.
HOST_GEMM = {16: (104, 180, 301, 386, 435), 4: (61, 91, 162, 206, 229), 1: (35, 40, 66, 76, 80), "4 on 1": (26, 31, 51, 58, 60)}
# MB/s of messages of 16 MiB over those of 2 MiB: within a node and between nodes (log hpl_wyt/hpl-main/R), in a node of PCIe 4 (80GB.out).
LONG_LOCAL, LONG_REMOTE = 10045 / 12402, 11225 / 11522
LOCAL = {3: 12402, 4: 16764 / LONG_LOCAL}
CALL = 3  # us: what a call of the host's BLAS costs with several threads, assumed (a parallel region and its barrier)
# Bytes that the memory moves for one that its test (CPU_BW) counts, where copies, which read or write each byte once, take from it what they have:
# log hpl_wyt/hpl-main/R_PQ_N_NB. Five other logs give 1.70 to 1.76; a copy that fetches the lines it overwrites has 1.5.
TRAFFIC = 19.8 / (43.2 - 31.7)
# GB/s of one core of such a host alone, by PCIe generation: logs HPL.out, whose rank has one core, 40GB.out and 80GB.out.
ONE_CORE = {3: ("4 on 1", 11.0), 4: (1, (15.3 + 15.6) / 2)}
LATENCY, LOCAL_LATENCY = 1.8, 0.8  # us, the same log
# A locked clock shows the rate of dgemm by NB without the limit of power: logs gpu-1020, gpu-810, gpu-765.
LOCKED = {128: (11313, 9249, 8631), 256: (13217, 10536, 9941), 384: (13063, 10406, 9831), 512: (13352, 10620, 10033), 1024: (13684, 10893, 10287)}
SHARED_GEMM = 6375  # at NB 1024 of a rank that shares its GPU, log hpl_wyt/hpl-main_fzx/RESULT; the table has a gap there
# Bytes for matrix and buffers of a GPU of 40 GB: what it has (40,536 MiB) less 1,072 MiB; a row that shares a GPU between two ranks has half.
MEMORY = (40536 - 1072) * 2**20


def between(points, nb):
    """Rate at nb: seconds a flop are linear in 1 / NB between two sizes."""
    sizes = sorted(points)
    low = max([s for s in sizes if s <= nb] or sizes[:1])
    high = min([s for s in sizes if s >= nb] or sizes[-1:])
    if low == high:
        return points[low]
    share = (1 / low - 1 / nb) / (1 / low - 1 / high)
    return 1 / ((1 - share) / points[low] + share / points[high])


def sustained(row):
    """dgemm of the GPU when it has run for long: the test's last and longest size, NB 1024, is where the clock has come down to what the
    power limit allows; how NB changes the rate is known from locked clocks."""
    shape = {nb: statistics.mean(v / w for v, w in zip(rates, LOCKED[1024])) for nb, rates in LOCKED.items()}
    return between(shape, int(row["NB"])) * float(row["nb1024"] or SHARED_GEMM)


def host_rate(cores, bandwidth):
    """t = flops / rate + bytes / bandwidth through the host's five rates; bytes of C (m x NB, twice) and A."""
    rates = []
    for nb, rate in zip((32, 64, 128, 256, 512), HOST_GEMM[cores]):
        seconds = 1 / rate - 12 / nb / bandwidth  # 24 m NB bytes for 2 m NB^2 flops
        if seconds > 0:
            rates.append(1 / seconds)
    return statistics.median(rates)


def facts(row):
    """How a run was made: not in the table, but in the log's head, or in the input file beside it."""
    log = row["log"]
    if "fzx" in log:
        return dict(cores=4, shared=True, bcast="2rM", pfact="left", nbmin=2, rfact="left")
    if log in ("40GB.out", "80GB.out"):
        return dict(cores=1, bcast="2rg", pfact="left", nbmin=2, rfact="left")
    if log == "HPL.out":
        return dict(cores="4 on 1", bcast="2rM", pfact="left", nbmin=2, rfact="left")
    if log.endswith("R_NB"):
        return dict(cores=16, bcast="1rg", pfact="right", nbmin=2, rfact="right")
    if log.endswith("/R"):
        return dict(cores=16, bcast="1rg", pfact="left", nbmin=2, rfact="left")
    if "hpl_wyt" in log:  # 4xA100-double.dat
        return dict(cores=16, bcast="1rg", pfact="right", nbmin=8, rfact="crout")
    return dict(cores=16, bcast="2rg", pfact="left", nbmin=2, rfact="left")


def ranks_of_node(row):
    return int(row["P"]) * int(row["Q"]) // len(row["hosts"].split(";"))


def tree(row, f, value):
    """The node as a PCIe tree: a port for each GPU with the log's H2D, D2H and both ways at once, and the memory of the host, where the ranks are,
    with the traffic that was seen when all ranks tested it beside copies both ways. Processes that share a GPU measured their half of its port. Links that no microbenchmark tells apart from these are wide."""
    share = 2 if f.get("shared") else 1
    down, up = value("h2d", float(row["h2d_avg"])), value("d2h", float(row["d2h_avg"]))
    both = min(max(value("both_ways", float(row["bid_avg"])), down, up), down + up)
    memory = ranks_of_node(row) * (TRAFFIC * float(row["cpu_bw_with_bid_avg"]) + float(row["bid_with_cpu_avg"]))
    keys = {"switches": 0, "cards": ranks_of_node(row) // share, "gpus": 1, "mem": "on", "lat": "0", "nic_bw": "100GB/s",
            "mem_bw": "%.6gGB/s" % memory, "mem_both_bw": "%.6gGB/s" % memory,
            "bw": "%.6gGB/s" % (share * up), "down_bw": "%.6gGB/s" % (share * down), "both_bw": "%.6gGB/s" % (share * both)}
    return 'node { family: "pcie" %s }' % " ".join('set: "%s=%s"' % k for k in keys.items())


def platform(row, change, copies):
    f = facts(row)
    nodes = len(row["hosts"].split(";"))
    gen = 4 if float(row["bid_min"]) > 21 and not f.get("shared") else 3
    value = lambda name, number: number * change.get(name, 1)
    bandwidth = float(row["cpu_bw_alone_avg"])
    rate = value("host_rate", host_rate(f["cores"], bandwidth))
    bandwidth = value("host_bandwidth", bandwidth)
    table = lambda cores: {nb: value("host_gemm", r) for nb, r in zip((32, 64, 128, 256, 512), HOST_GEMM[cores])}
    single, single_bandwidth = ONE_CORE[gen]
    threads = f["cores"] if isinstance(f["cores"], int) else 1
    if threads == 1:
        single, single_bandwidth = f["cores"], bandwidth
    single_bandwidth = value("one_core", min(single_bandwidth, bandwidth))
    blas = host_blas(threads, TRAFFIC * bandwidth, table(f["cores"]), TRAFFIC * single_bandwidth, table(single), single_bandwidth, value("call", CALL),
                     (rate, bandwidth), f["nbmin"], 128000 if threads == 16 else 64000)
    gemm, memory = value("gemm", sustained(row)), float(row["gpu_bw_avg"])
    ways = value("both_ways", float(row["bid_avg"]) / 2)
    if nodes == 2:  # the column's messages cross the network; three of four do with 4 x 1 and two of four stay with 2 x 2
        port = float(row["net_col_2MB_mbs"]) * LONG_REMOTE / 1e3
        local = LOCAL[gen] * LONG_LOCAL / 1e3
    else:
        port, local = 12, float(row["net_col_2MB_mbs"]) / 1e3 * (13133 / 24581 if gen == 4 else 7484 / 7781)
    if row["Q"] == "4":
        port = 11.572 * LONG_REMOTE
    port, local = value("port", port), value("local", local)
    device = "".join(f'  kernel {{ name: "{k}" rate: "{gemm:.6g}Gflops" }}\n' for k in
                     ("device_dgemm", "device_dtrsm_left", "device_dtrsm_right"))
    device += "".join(f'  kernel {{ name: "{k}" bandwidth: "{memory:.6g}GB/s" }}\n' for k in
                      ("device_dgemv", "device_dtrsv", "device_daxpy", "device_dlatcpy", "device_dlaswp"))
    if copies == "links":
        node = tree(row, f, value)
        device += "".join(f'  kernel {{ name: "{k}" place: "links" }}\n' for k in ("copy_to_device", "copy_to_host"))
    else:
        node = ""
        device += f'''  kernel {{ name: "copy_to_device" for_k: "2" bandwidth: "{ways:.6g}GB/s" }}
  kernel {{ name: "copy_to_device" bandwidth: "{value("h2d", float(row["h2d_avg"])):.6g}GB/s" }}
  kernel {{ name: "copy_to_host" bandwidth: "{value("d2h", float(row["d2h_avg"])):.6g}GB/s" }}
'''
    return f'''name: "a100"
topology {{ family: "crossbar" set: "n={nodes}" set: "bw={port:.6g}GB/s" set: "lat={LATENCY / 2}us" }}
{node}
host {{
  ranks: {ranks_of_node(row)}
  roofline: "sum"
{device}{blas}\
}}
mpi {{ eager_limit: "8KiB" local_latency: "{LOCAL_LATENCY}us" local_bandwidth: "{local:.6g}GB/s" send_overhead: "300ns" recv_overhead: "300ns" }}
'''


def predict(options, folder, number, row, change):
    path = os.path.join(folder, "a100-%d-%s.textproto" % (number, "-".join(change) or "is"))
    with open(path, "w") as f:
        f.write(platform(row, change, options.copies))
    where = path + ".map"  # processes of the host: their messages leave from its memory
    with open(where, "w") as f:
        for node in range(len(row["hosts"].split(";"))):
            f.write("node%d.mem0\n" % node * ranks_of_node(row))
    how = facts(row)
    memory = MEMORY / 2 if how.get("shared") else MEMORY
    if row["log"] == "80GB.out":
        memory = 81251 * 2**20
    words = [program(options.weft), "predict", "hpl", "--program", "nvidia", "--on", path, "--n", row["N"], "--nb", row["NB"],
             "--p", row["P"], "--q", row["Q"], "--bcast", how["bcast"], "--pfact", how["pfact"], "--rfact", how["rfact"],
             "--nbmin", str(how["nbmin"]), "--device-memory", "%dB" % (memory * change.get("memory", 1)), "--split", str(options.split),
             "--threads", "1", "--quiet", "--json", "-"] + options.sample
    if options.copies == "links":
        words += ["--map", "file:" + where]
    got = subprocess.run(words, capture_output=True, text=True)
    if got.returncode:
        raise SystemExit(" ".join(words) + "\n" + got.stderr)
    got = json.loads(got.stdout)
    return got


def name(row):
    return row["log"].replace("hpl_wyt/", "").replace("hpl-main/", "").replace("hpl-main_fzx/", "fzx/")


def floor(rows):
    """Mean error of the best prediction a set of parameters could get: for runs with the same N, NB, P, Q, machine and microbenchmarks (to
    10 %), the number that makes the mean of |x / g - 1| least, which is one of the measured ones."""
    groups = {}
    for r in rows:
        groups.setdefault((r["hosts"], r["N"], r["NB"], r["P"], r["Q"], round(float(r["bid_avg"])), r["nb1024"][:2]), []).append(float(r["gflops"]))
    errors, several = [], []
    for g in groups.values():
        best = min((sum(abs(x / m - 1) for m in g) for x in g))
        errors += [best / len(g)] * len(g)
        if len(g) > 1:
            several.append((max(g) / min(g) - 1, best / len(g), len(g)))
    return several, 100 * statistics.mean(errors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("runs")
    parser.add_argument("--out")
    parser.add_argument("--split", type=float, default=0.6)
    parser.add_argument("--copies", choices=("links", "durations"), default="links")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=FACTOR")
    parser.add_argument("--rows", help="regular expression of log names")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--sample", dest="sample", action="store_const", const=["--sample"], default=[])
    parser.add_argument("--sensitivity", action="store_true")
    parser.add_argument("--keep", metavar="FOLDER")
    options = parser.parse_args()
    with open(options.runs, newline="") as f:
        rows = [r for r in csv.DictReader(f) if not options.rows or re.search(options.rows, r["log"])]
    change = {k: float(v) for k, v in (s.split("=") for s in options.set)}
    known = "gflops" in rows[0]
    with tempfile.TemporaryDirectory() as folder:
        folder = options.keep or folder
        pool = concurrent.futures.ThreadPoolExecutor(options.threads)
        run = lambda c: list(pool.map(lambda p: predict(options, folder, p[0], p[1], c), enumerate(rows)))
        base = run(change)
        if options.sensitivity:
            print("| constant | what 10 % more of it does, mean |\n|---|---|")
            for c in ("gemm", "host_gemm", "host_rate", "host_bandwidth", "one_core", "call", "h2d", "d2h", "both_ways", "port", "local", "memory"):
                moved = run(dict(change, **{c: change.get(c, 1) * 1.1}))
                print("| %s | %+.1f %% |" % (c, 100 * statistics.mean(m["gflops"] / b["gflops"] - 1 for m, b in zip(moved, base))), flush=True)
            return
    print("| log | nodes | N | NB | P x Q | predicted, Gflop/s | estimate |" + (" measured | error |" if known else "") +
          "\n|---|---|---|---|---|---|---|" + ("---|---|" if known else ""))
    errors = []
    for r, got in zip(rows, base):
        line = "| %s | %d | %s | %s | %s x %s | %s | %s |" % (
            name(r), len(r["hosts"].split(";")), format(int(r["N"]), ","), r["NB"], r["P"], r["Q"], format(round(got["gflops"]), ","),
            "-" if got.get("error_estimate") is None else "%.1f %%" % (100 * got["error_estimate"]))
        if known:
            e = 100 * (got["gflops"] / float(r["gflops"]) - 1)
            errors.append((name(r), e))
            line += " %s | %+.1f %% |" % (format(round(float(r["gflops"])), ","), e)
        print(line)
    if known:
        print("\n| log | runs | mean size | mean | worst |\n|---|---|---|---|---|")
        for g in list(dict.fromkeys(n for n, _ in errors)) + ["all", "all but HPL.out"]:
            e = [x for n, x in errors if g in ("all", n) or (g == "all but HPL.out" and n != "HPL.out")]
            if e:
                print("| %s | %d | %.1f %% | %+.1f %% | %+.1f %% |" % (
                    g, len(e), statistics.mean(map(abs, e)), statistics.mean(e), max(e, key=abs)))
        several, least = floor(rows)
    if known and several:
        print("\n%d sets of parameters were run more than once (%d runs): they scatter by %.0f %% on the mean, %.0f %% at most; the best "
              "prediction from parameters alone is off by %.1f %% on these and %.1f %% on all" % (
                  len(several), sum(n for _, _, n in several), 100 * statistics.mean(s for s, _, _ in several),
                  100 * max(s for s, _, _ in several), 100 * sum(b * n for _, b, n in several) / sum(n for _, _, n in several), least))
    if options.out:
        with open(options.out, "w", newline="") as f:
            out = csv.writer(f, lineterminator="\n")
            out.writerow(["log", "N", "NB", "P", "Q", "predicted_gflops", "predicted_time_s"])
            for r, got in zip(rows, base):
                out.writerow([r["log"], r["N"], r["NB"], r["P"], r["Q"], "%.0f" % got["gflops"], "%.2f" % got["time_s"]])


main()
