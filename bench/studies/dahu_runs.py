#!/usr/bin/env python3
"""Predictions of the measured runs of HPL on Dahu, their errors by group, and which constant moves what (docs/validation-hpl.md).

  python3 bench/studies/dahu_runs.py WEFT grids|cells|sizes [--measured CSV] [--threads N] [--exchanges series] [--only EXPRESSION]
      [--change NAME]
  python3 bench/studies/dahu_runs.py WEFT sensitivity --measured CSV [--threads N] [--first I --every K] [--only EXPRESSION]
      [--exchanges series]

grids: 28 shapes of 960 ranks; cells: 72 combinations of NB, DEPTH, BCAST and SWAP on 32 x 32; sizes: 13 matrices on 32 x 32
(platform dahu-2019-04). CSV: set,n,nb,p,q,depth,bcast,swap,measured_gflops_median as in hpl_measured_grids_parameters.csv, or
matrix_size,gflops,date for sizes. sensitivity: what a change of each constant does to each group of runs (the I-th, then every K-th), and leave one group out:
the change that would make the other groups' errors least, and what it does to the group that was left out. --only: grids, cells or sizes whose name the
expression is found in, or constants; --change: with one constant changed. Every run is `weft predict hpl --noise --seed 1 --sample`; nothing is fitted here.
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

from program import program

N = 250000
GRIDS = [p for p in range(1, 961) if 960 % p == 0]
BCAST = ["1rg", "1rM", "2rg", "2rM", "Lng", "LnM"]
SWAP = ["bin-exch", "long", "mix"]


def run(nb=128, p=32, q=32, depth=1, bcast=2, swap=0, n=N):
    return dict(nb=nb, p=p, q=q, depth=depth, bcast=bcast, swap=swap, n=n)


def group(r):
    if (r["p"], r["q"]) == (32, 32):
        return "NB %d, DEPTH %d, %s" % (r["nb"], r["depth"], SWAP[r["swap"]])
    return "flat (P < Q / 4)" if 4 * r["p"] < r["q"] else "tall (P > 4 Q)" if r["p"] > 4 * r["q"] else "square"


NAMES = {
    "grids": lambda r: "%d x %d" % (r["p"], r["q"]),
    "cells": lambda r: "NB %d, DEPTH %d, %s, %s" % (r["nb"], r["depth"], BCAST[r["bcast"]], SWAP[r["swap"]]),
    "sizes": lambda r: "N = %s" % format(r["n"], ","),
}


class Runner:
    def __init__(self, weft, threads, exchanges):
        self.weft, self.pool = program(weft), concurrent.futures.ThreadPoolExecutor(threads)
        self.exchanges = exchanges

    def predict(self, platform, r):
        words = [self.weft, "predict", "hpl", "--on", platform, "--noise", "--seed", "1", "--sample", "--nbmin", "2",
                 "--pfact", "crout", "--rfact", "right", "--threads", "1", "--quiet", "--json", "-",
                 "--exchanges=" + self.exchanges]
        for key in ("n", "nb", "p", "q", "depth", "bcast", "swap"):
            words += ["--" + key, str(r[key])]
        if r["swap"] == 2:
            words += ["--swap-threshold", str(r["nb"])]
        got = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
        return got["gflops"], got.get("error_estimate")

    def all(self, jobs):
        return [f.result() for f in [self.pool.submit(self.predict, *j) for j in jobs]]


def measured_runs(path):
    out = {}
    with open(path) as f:
        for r in csv.DictReader(f):
            key = run(int(r["nb"]), int(r["p"]), int(r["q"]), int(r["depth"] or 1), int(r["bcast"] or 2), int(r["swap"] or 0),
                      int(r["n"]))
            out[tuple(key.items())] = float(r["measured_gflops_median"])
    return out


def measured_sizes(path):
    by = {}
    with open(path) as f:
        for r in csv.DictReader(f):
            if r["date"] == "2019-03":
                by.setdefault(int(r["matrix_size"]), []).append(float(r["gflops"]))
    return {tuple(run(n=n).items()): statistics.mean(v) for n, v in by.items()}


def summary(rows):
    """rows: (group, error) -> a Markdown table: mean size and mean of the errors, the worst."""
    print("| group | runs | mean size | mean | worst |\n|---|---|---|---|---|")
    groups = sorted({g for g, _ in rows}) + ["all"]
    for g in groups:
        e = [x for h, x in rows if g in ("all", h)]
        print("| %s | %d | %.1f %% | %+.1f %% | %+.1f %% |" %
              (g, len(e), statistics.mean(map(abs, e)), statistics.mean(e), max(e, key=abs)))


def table(runner, what, platform, runs, measured):
    got = runner.all([(platform, r) for r in runs])
    print("| run | predicted, Gflop/s | estimate | measured | error |\n|---|---|---|---|---|")
    errors = []
    for r, (gflops, estimate) in zip(runs, got):
        m = measured.get(tuple(r.items()))
        error = None if m is None else 100 * (gflops / m - 1)
        if error is not None:
            errors.append((group(r), error))
        print("| %s | %s | %s | %s | %s |" % (
            NAMES[what](r), format(round(gflops), ","), "-" if estimate is None else "%.1f %%" % (100 * estimate),
            "" if m is None else format(round(m), ","), "" if error is None else "%+.1f %%" % error))
    if errors:
        print()
        summary(errors)


def scaled(text, pattern, factor):
    return re.sub(pattern, lambda m: "%s%.6g%s" % (m[1], float(m[2]) * factor, m[3]), text)


# name -> what it does to the text of the platform
VARIANTS = {
    "as it is": lambda t: t,
    "no messages under load": lambda t: re.sub(r"  loaded_(local_)?transfer .*\n", "", t),
    "no intercepts under load": lambda t: re.sub(r'(loaded_(?:local_)?transfer \{.*?)intercept: "[\d.]+ms" ', r"\1", t),
    "rates under load 10 % lower": lambda t: scaled(t, r'(loaded_.*per_byte: ")([\d.]+)(ps")', 1.1),
    "one dgemm for all k": lambda t: re.sub(r'kernel \{ name: "dgemm" for_k[^}]*\} ?', "", t),
    "mk of dgemm a quarter less": lambda t: scaled(t, r'(name: "dgemm"[^}]*? mk: ")([\d.]+)(ps")', 0.75),
    "dgemm 1 % faster": lambda t: scaled(t, r'(name: "dgemm"[^}]*? mnk: ")([\d.]+)(ps")', 0.99),
    "no noise of dgemm": lambda t: re.sub(r'(name: "dgemm"[^}]*?) noise_intercept: "[^"]*" noise: "[^"]*"', r"\1", t),
    "noise of dgemm 3.7 %": lambda t: re.sub(r'(name: "dgemm"[^}]*? noise: ")[^"]*"', r'\g<1>0.037"', t),
    "ports 94 Gb/s to any number of peers": lambda t: re.sub(r"  port \{.*\n", "", t),
    "ports 82 Gb/s to any number of peers": lambda t: re.sub(r"  port \{.*\n", "", t).replace('"bw=11.75GB/s"', '"bw=10.25GB/s"'),
    "no power budget": lambda t: re.sub(r"  power \{.*\n", "", re.sub(r' headroom: "[\d.]+"', "", t)),
    "a waiting core takes 0.7 of the power": lambda t: re.sub(r'(power \{ waiting: ")[\d.]+', r"\g<1>0.7", t),
    "a waiting core takes 0.3 of the power": lambda t: re.sub(r'(power \{ waiting: ")[\d.]+', r"\g<1>0.3", t),
    "power averaged over 10 s": lambda t: re.sub(r'(power \{.* time: ")1s', r"\g<1>10s", t),
    "dtrsm at the rate of n = 128": lambda t: re.sub(r'(name: "dtrsm_\w+" rate: ")[^"]*" mn: "[^"]*"', r'\g<1>18.3637Gflops"', t),
    "unpublished copies at the mean": lambda t: re.sub(r'(name: "dlaswp(?:00|05|06|10)" mn: ")[\d.]+', r"\g<1>6830", t),
    "copies of the swap free": lambda t: re.sub(r'(kernel \{ name: "dlaswp\d*" )mn: "[\d.]+ps"', r'\1intercept: "0"', t),
}


def pieces_under_load(text):
    """Messages within a host from 16,000 bytes to 6 MB take what a lone one does beside busy cores, larger ones as they were."""
    text = re.sub(r'  local_transfer \{ from: "(?:14329|18098|501548|1460387)B".*\n', "", text)
    return re.sub(r'(  local_transfer \{ from: ")9312011(B".*\n)', r'  local_transfer { from: "16000B" per_byte: "330ps" }\n\g<1>6000000\2', text)


def sockets_share(bandwidth):
    """All messages from one socket of a host to the other share a link; None: nothing."""
    line = r'\1  socket_bandwidth: "%s"\n' % bandwidth if bandwidth else r"\1"
    return lambda text: re.sub(r"(  sockets: 2\n)", line, re.sub(r"  socket_bandwidth: .*\n", "", text))


def levels_apart(text, share):
    """CPUs at `share` of their distance from the mean."""
    groups = re.findall(r"  group \{.*\n", text)
    level = {g: float(re.search(r'for_k: "192-383"[^}]*? mnk: "([\d.]+)ps"', g)[1]) for g in groups}
    mean = statistics.mean(level.values())
    for g, own in level.items():
        factor = (mean + share * (own - mean)) / own
        text = text.replace(g, re.sub(r'(\b(?:intercept|mnk|mn|mk|nk): ")([\d.]+)', lambda m: "%s%.6g" % (m[1], float(m[2]) * factor), g))
    return text


# What the platform leaves out, at one size each; not among the constants to choose from.
CHANGES = dict(VARIANTS, **{
    "pieces within hosts at the rate under load": pieces_under_load,
    "sockets share nothing": sockets_share(None),
    "sockets share 34.4 GB/s each way": sockets_share("34.4GB/s"),
    "sockets share 25.3 GB/s each way": sockets_share("25.3GB/s"),
    "half of the distance between CPUs": lambda t: levels_apart(t, 0.5),
    "CPUs alike": lambda t: levels_apart(t, 0),
})


def leave_one_out(groups, size):
    """size[variant][group]: mean size of the errors. What choosing by all groups but one does to that one."""
    print("\n| left out | as it is | best for the others | with that |\n|---|---|---|---|")
    chosen = []
    for g in groups:
        best = min(size, key=lambda v: statistics.mean(size[v][h] for h in groups if h != g))
        chosen.append(size[best][g])
        print("| %s | %.1f %% | %s | %.1f %% |" % (g, size["as it is"][g], best, size[best][g]))
    print("| mean | %.1f %% | | %.1f %% |" % (statistics.mean(size["as it is"][g] for g in groups), statistics.mean(chosen)))


def platform_text(name):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../platforms/%s.textproto" % name)) as f:
        return f.read()


def sensitivity(runner, measured, first, every, only):
    text = platform_text("dahu")
    runs = [dict(k) for k in measured]
    runs = [r for r in runs if r["q"] != 32 or r["p"] != 32 or r["bcast"] in (2, 4)][first::every]
    size = {}
    with tempfile.TemporaryDirectory(prefix="weft-dahu-") as folder:
        groups = sorted({group(r) for r in runs})
        print("| constant | " + " | ".join(groups) + " | mean size |\n|---|" + "---|" * (len(groups) + 1))
        base = None
        for i, (title, change) in enumerate((CHANGES if only else VARIANTS).items()):
            if i > 0 and only and not re.search(only, title):
                continue
            path = os.path.join(folder, "v%d.textproto" % i)
            changed = change(text)
            if i > 0 and changed == text:
                raise SystemExit(title + ": the platform has no such constant")
            with open(path, "w") as f:
                f.write(changed)
            got = [g for g, _ in runner.all([(path, r) for r in runs])]
            error = [100 * (g / measured[tuple(r.items())] - 1) for g, r in zip(got, runs)]
            base = base or error
            size[title] = {g: statistics.mean(abs(e) for e, r in zip(error, runs) if group(r) == g) for g in groups}
            cells = []
            for g in groups:
                here = [k for k, r in enumerate(runs) if group(r) == g]
                value = statistics.mean((error if i == 0 else [e - b for e, b in zip(error, base)])[k] for k in here)
                cells.append("%+.1f" % value)
            print("| %s | %s | %.1f %% |" % (title, " | ".join(cells), statistics.mean(map(abs, error))), flush=True)
        if not only:
            leave_one_out(groups, size)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("what", choices=["grids", "cells", "sizes", "sensitivity"])
    parser.add_argument("--measured")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--exchanges", default="auto")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", help="runs, or constants of sensitivity, whose name this expression is found in")
    parser.add_argument("--change", choices=list(CHANGES))
    args = parser.parse_args()
    runner = Runner(args.weft, args.threads, args.exchanges)
    measured = {}
    if args.measured:
        measured = measured_sizes(args.measured) if args.what == "sizes" else measured_runs(args.measured)
    runs = {
        "grids": [run(p=p, q=960 // p) for p in GRIDS],
        "cells": [run(nb, 32, 32, d, b, s) for s in range(3) for nb in (128, 256) for d in (0, 1) for b in range(6)],
        "sizes": [run(n=n) for n in (50000, 75000, 100000, 125000, 150000, 175000, 200000, 250000, 300000, 350000, 400000, 450000, 500000)],
    }
    if args.what in runs:
        platform = "dahu-2019-04" if args.what == "sizes" else "dahu"
        wanted = [r for r in runs[args.what] if not args.only or re.search(args.only, NAMES[args.what](r))]
        with tempfile.TemporaryDirectory(prefix="weft-dahu-") as folder:
            if args.change:
                changed, platform = CHANGES[args.change](platform_text(platform)), os.path.join(folder, "changed.textproto")
                with open(platform, "w") as f:
                    f.write(changed)
            table(runner, args.what, platform, wanted, measured)
    elif not measured:
        parser.error("sensitivity needs --measured")
    else:
        sensitivity(runner, measured, args.first, args.every, args.only)


if __name__ == "__main__":
    main()
