#!/usr/bin/env python3
"""Makes platforms/dahu.textproto and dahu-2019-04.textproto from the public measurements of the machine's user.

  python3 bench/studies/dahu.py WEFT --thesis T --calibrations C [--out platforms]

T: checkout of github Ezibenroc/thesis, C: git directory of github Ezibenroc/mpi_calibration. Only calibrations are read:
  T/data/prediction/modeling/kernels/generative/dgemm_calibration.csv   dgemm of every CPU, November 2019 to January 2020
  T/data/experiment/randomizing_sizes/fixing_K/dgemm_raw_data.csv       single calls of dgemm on node 5, December 2020
  T/data/prediction/modeling/network/pycewise/{pycewise_data,memcpy_small}.csv   messages
  C, dahu/blas/dgemm_heterogeneous_model.ipynb at 2292da5 and 81f75d1   dgemm of every CPU on 3 and 4 April 2019
All fits are made by `weft fit`. What was published as a figure in a notebook stands below with its source.
"""
import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

from program import program

# Transfers under load, while all cores of the nodes multiply and poll in between: tables that github
# Ezibenroc/mpi_calibration, dahu/mpi/remote_calibration.ipynb of 2020-08-20 (d359ae6) prints in cells 46 and 60. First
# byte, intercept (ms), ps a byte. Intercepts of 0.065 to 0.176 ms are the wait for the next poll, which a replay has
# itself: left out. Those below 0 are halves of the regressions themselves (cells 45 and 57), which the tables cut to 0.
LOADED = [(8133, 0, 80), (15798, 0, 1075.991), (64000, 0, 252.8962), (6000000, -0.3655, 615.2294),
          (42672591, -3.4705, 772.593), (160097505, 97.091, 198.7136)]
LOADED_LOCAL = [(0, 0, 227), (16000, 0, 330), (6000000, 0, 530), (36900000, -6.56, 934), (160100000, 102, 229)]

# A port under two-way traffic, each way (dahu/mpi/saturation.ipynb in the same repository, July 2020): 94 Gb/s to and from
# one node, 82 to one and from another (2,300 Gb/s of 28 nodes, read from a plot), 66 among all 28. One way alone 96.
PORT = "11.75GB/s"
PEERS = [(2, 82 / 94), (27, 66 / 94)]
EAGER = "8132B"

# Cooled badly in spring 2019.
HOT_NODES = range(13, 17)

# Two calibrations of that April: commit, cells whose output prints each CPU's regression in mnk alone and that in all terms. The file that
# their user made of them for SMPI (github Ezibenroc/hpl, 12d0551) is not taken: later cells multiply its mnk by 1.072 and its deviation
# by 3.3, which make the calls of a traced run of HPL come out right.
SPRING = [("2292da5", 8, 11), ("81f75d1", 10, 13)]

# k that was measured alone, and the k that it stands for.
PARTS = [(128, "96-191"), (256, "192-383"), (512, "384-767")]
TERMS = ["intercept", "mnk", "mn", "mk", "nk"]

# dtrsm of m n n. n = 128: Ezibenroc/hpl, include/hpl_blas.h. 4000 x 4000 on all cores of all 32 nodes at once, December 2018, as a share of
# dgemm with m = n = k = 4000 there (2.1516 and 4.1222 s; matrices are constant in both), and its deviation, the root of the mean square
# that node, core and first call leave (1.642143 s^2 / 60353): github Ezibenroc/mpi_calibration, dahu/blas/heterogeneity.ipynb.
DTRSM_128 = 5.445540e-11
DTRSM_4000 = 2.151647 / 4.122219
DTRSM_NOISE = (1.642143 / 60353) ** 0.5 / 2.151647

# Clock and dgemm of 2,048 in each dimension on all cores (dahu/stress_test/stress_test_freq.ipynb in the same repository, November 2019, nodes
# 13 to 16, read from its plots): no core computes above 2.4 GHz, where a CPU that keeps it for minutes reaches 30.4 Gflop/s a core; those that
# power or heat holds down are at 2.06 GHz with 26.2 and at 2.17 GHz with 27.6, so the rate goes as the clock.
FULL_CLOCK, FULL_CLOCK_RATE, SIZE = 2.4e9, 30.4e9, 2048
# What 16 cores of a Gold 6130 run ordinary code at within the same 125 W (Intel, Xeon Scalable specification update 336065; 2.4 GHz with AVX2 is there, too).
ORDINARY_CLOCK = 2.8e9

OTHER_KERNELS = """\
  # Kernels other than dgemm: no calibration file. Coefficients published in the SMPI port of HPL (github
  # Ezibenroc/hpl, include/hpl_blas.h, src/auxil, src/pauxil), measured on this machine; standard deviations too.
  # dtrsm: through m n n with n = 128 there and n = 4000 in github Ezibenroc/mpi_calibration, dahu/blas/heterogeneity.ipynb.
@DTRSM@  kernel { name: "dgemv" mn: "1278.804ps" noise: "0.0129" }
  kernel { name: "dscal" mnk: "379.8686ps" noise: "0.392" }
  kernel { name: "idamax" mnk: "605.2262ps" noise: "0.393" }
  kernel { name: "daxpy" intercept: "0.6680085us" noise: "1.387" }  # constant there: vectors of one length
  kernel { name: "dtrsv" intercept: "24.38651us" noise: "0.183" }   # constant there: triangles of one size
  kernel { name: "dlacpy" mn: "3871.806ps" noise: "0.343" }
  kernel { name: "dlatcpy" mn: "4893.9ps" noise: "0.0959" }
  # HPL's copies, by its function: 01T, 02N, 03T, 04T of that source. 04T's published 8.498957 ns is per gathered row; the
  # call moves the host's own rows too, 1,488 for 1,364 gathered in a binary exchange of 128 rows on 32 process rows.
  kernel { name: "dlaswp01" mn: "7547.639ps" noise: "0.1817" }
  kernel { name: "dlaswp02" mn: "28222.41ps" noise: "0.1948" }
  kernel { name: "dlaswp03" mn: "3775.24ps" noise: "0.0786" }
  kernel { name: "dlaswp04" mn: "7790.71ps" noise: "0.261" }
  # Not published, by what they move. 10: columns of U in place, two read and two written for an exchange, where 03 reads one and
  # writes one that has to be read first: 4/3 of it. 00, 05, 06: rows of A, whose elements are a cache line each as in 02; 06 counts both ways.
  kernel { name: "dlaswp10" mn: "5033.65ps" noise: "0.0786" }
  kernel { name: "dlaswp00" mn: "28222.41ps" noise: "0.1948" }
  kernel { name: "dlaswp05" mn: "28222.41ps" noise: "0.1948" }
  kernel { name: "dlaswp06" mn: "14111.2ps" noise: "0.1948" }
  kernel { name: "dlaswp" mn: "6830ps" noise: "0.2" }  # any other: mean of the four published, weighted by rows
  kernel { name: "dger" mn: "1278.804ps" noise: "0.0129" }  # assumed: as dgemv; SMPI's port counts none
  kernel { name: "dswap" intercept: "0" }                   # as SMPI's port: counts none
  kernel { name: "dcopy" mnk: "413.96ps" }                  # assumed: 8 B an element at the 51.745 ps a byte of memcpy
"""

HEAD = """\
# {title}
# Made by bench/studies/dahu.py from public calibrations of its user; no figure is from a run of HPL (docs/kernels.md).
name: "{name}"
summary: "{summary}"
source: "32 nodes, 2 x Xeon Gold 6130, one Omni-Path 100 Gb/s switch, Rpeak 62.26 Tflop/s over 1,024 cores: Cornebize, PhD thesis"
source: "Omni-Path switch 100-110 ns: PPT omnipath configuration"
{dgemm_source}
source: "dgemm by k, its scatter: github Ezibenroc/thesis, data/experiment/randomizing_sizes/fixing_K/dgemm_raw_data.csv (node 5, December 2020)"
source: "messages: the same, data/prediction/modeling/network/pycewise, pycewise_data.csv and memcpy_small.csv"
source: "messages under load: github Ezibenroc/mpi_calibration, dahu/mpi/remote_calibration.ipynb (d359ae6, August 2020)"
source: "ports: the same, dahu/mpi/saturation.ipynb (July 2020): 94 Gb/s each way to and from one node, 82 to one and from another, 66 among all"
source: "highest clock of a core that multiplies: github Ezibenroc/mpi_calibration, dahu/stress_test/stress_test_freq.ipynb; of one that runs ordinary code: Intel, specification update 336065"
source: "between sockets: 50.7 GB/s each way, Intel Memory Latency Checker on two Platinum 8180: github FDio/csit, docs/report/introduction/test_environment_sut_calib_skx.rst"
topology {{
  family: "crossbar"
  set: "n=32"
  set: "bw={port}"      # 94 Gb/s: to and from one node at once; one way alone 96
  set: "lat=100ns"      # two links between hosts; the switch is 100 to 110 ns
}}
host {{
  speed: "60.8Gflops"  # peak of one core: 62.26 Tflop/s / 1,024 cores (TOP500-style, base clock)
  ranks: 32            # one rank per core, as the thesis ran
  sockets: 2
  socket_order: "cyclic"  # even ranks on CPU 0: get_cpuid() in Ezibenroc/hpl, src/blas/HPL_dgemm.c
  socket_bandwidth: "50.7GB/s"  # each way: 81 % of three UPI links at 10.4 GT/s, as many as here
{peers}
  # A core that waits leaves power to those that multiply, up to 2.4 GHz (docs/kernels.md, Dahu, 8); averaged over the second that is these processors' default.
  power {{ waiting: "{waiting}" time: "1s" }}
  # {dgemm_comment}
"""


class Fit:
    def __init__(self, weft, folder):
        self.weft, self.folder = weft, folder

    def json(self, *words):
        out = os.path.join(self.folder, "fit.json")
        line = [self.weft, "fit", *words, "-o", os.path.join(self.folder, "part"), "--json", out]
        print("weft " + " ".join(line[1:]), file=sys.stderr)
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
        with open(out) as f:
            return json.load(f)


def call_file(raw, folder):
    """Calls of one k in a row, and those of random shapes; not those of the experiment that mixes a few k."""
    path = os.path.join(folder, "calls.csv")
    fixed = {f"exp_{k}" for k, _ in PARTS}
    with open(raw) as source, open(path, "w") as out:
        print("m,n,k,seconds,node,cpu", file=out)
        for r in csv.DictReader(source):
            kind = r["expfile"].rsplit("_", 1)[0]
            known = r["k"] in {str(k) for k, _ in PARTS}
            if (kind in fixed and kind == "exp_" + r["k"]) or (kind == "exp_random" and not known):
                print(r["m"], r["n"], r["k"], r["duration"], r["node"], r["cpu"], sep=",", file=out)
    return path


def printed(git_dir, commit, cell):
    """(node, cpu) -> polynomial and deviation, from the C code that a notebook's cell prints."""
    spec = commit + ":dahu/blas/dgemm_heterogeneous_model.ipynb"
    book = json.loads(subprocess.run(["git", "--git-dir", git_dir, "show", spec], check=True, capture_output=True).stdout)
    text = "".join(book["cells"][cell]["outputs"][0]["data"]["text/markdown"])
    out = {}
    for cpu, body in re.findall(r"case (\d+): // node \d+\n(.*?)return", text, re.S):
        pair = []
        for name in ("mu", "sigma"):
            terms = [t.split("*") for t in re.search(rf"{name} += (.*);", body)[1].split(" + ")]
            pair.append({**dict.fromkeys(TERMS, 0.0), **{(t[1] if len(t) > 1 else "intercept"): float(t[0]) for t in terms}})
        out[(int(cpu) // 2, int(cpu) % 2)] = pair
    if len(out) != 64:
        sys.exit(f"{spec}: {len(out)} CPUs in cell {cell}; expected 64")
    return out


def spring(git_dir, level):
    """CPU of a hot node -> its level in April 2019 and its deviation, in the units of `level`. Those calibrations multiplied constant
    matrices, which run faster than random ones: what the nodes that were well took then is what they take in `level`."""
    days = []
    for commit, linear, full in SPRING:
        linear, full = printed(git_dir, commit, linear), printed(git_dir, commit, full)
        well = [c for c in level if c[0] not in HOT_NODES]
        random = sum(level[c] / linear[c][0]["mnk"] for c in well) / len(well)
        print(f"{commit}: random matrices take {random:.4f} of constant ones", file=sys.stderr)
        days.append({c: (linear[c][0]["mnk"] * random, {t: v * random for t, v in full[c][1].items()})
                     for c in level if c[0] in HOT_NODES})
    return {c: (sum(d[c][0] for d in days) / len(days), mean([d[c][1] for d in days])) for c in days[0]}


def polynomial(fit, scale=1.0):
    return {t: fit[t + "_s"] * scale for t in TERMS}


def entry(poly, noise, for_k=None):
    words = ['name: "dgemm"']
    if for_k:
        words.append(f'for_k: "{for_k}"')
    for t in TERMS:
        if poly[t] != 0 or t in ("intercept", "mnk"):
            unit = ("us", 1e6) if t == "intercept" else ("ps", 1e12)
            words.append(f'{t}: "{poly[t] * unit[1]:.6g}{unit[0]}"')
    if isinstance(noise, dict):
        words += [f'noise_{t}: "{noise[t] * (1e6 if t == "intercept" else 1e12):.6g}{"us" if t == "intercept" else "ps"}"'
                  for t in TERMS]
    else:
        words.append(f'noise_intercept: "{noise[0] * 1e6:.4g}us" noise: "{noise[1]:.4g}"')
    return "kernel { " + " ".join(words) + " }"


def mean(list_of_polynomials):
    n = len(list_of_polynomials)
    return {t: sum(p[t] for p in list_of_polynomials) / n for t in TERMS}


def of_port(text, alone):
    """Factors of the bandwidth that one message reaches alone, as factors of the port: the rates stay."""
    share = alone / (float(PORT.removesuffix("GB/s")) * 1e9)
    text = re.sub(r"# The factors are of.*\n", "", text)
    return re.sub(r'(bandwidth_factor: ")([\d.e+-]+)', lambda m: f"{m[1]}{float(m[2]) * share:.5g}", text)


def segments(name, table):
    lines = []
    for start, intercept, per_byte in table:
        first = f'from: "{start}B" ' if start else ""
        wait = f'intercept: "{intercept}ms" ' if intercept else ""
        lines.append(f'  {name} {{ {first}{wait}per_byte: "{per_byte}ps" }}\n')
    return "".join(lines)


def dtrsm(gemm):
    """m n n per_flop + m n per_element through both sizes, dgemm of large k being `gemm`."""
    at_4000 = DTRSM_4000 * (gemm["mnk"] + (gemm["mn"] + gemm["mk"] + gemm["nk"]) / 4000)
    per_element = (DTRSM_128 - at_4000) / (1 / 128 - 1 / 4000)
    per_flop = DTRSM_128 - per_element / 128
    return "".join('  kernel { name: "dtrsm_%s" rate: "%.5gGflops" mn: "%.5gps" noise: "%.4g" }\n' %
                   (side, 1e-9 / per_flop, per_element * 1e12, DTRSM_NOISE) for side in ("left", "right"))


def clock(gemm):
    """Of a CPU while all of its cores multiply, by its polynomial for large k."""
    seconds = gemm["mnk"] + (gemm["mn"] + gemm["mk"] + gemm["nk"]) / SIZE + gemm["intercept"] / SIZE**3
    return min(1.0, 2 / seconds / FULL_CLOCK_RATE) * FULL_CLOCK


def platform(head, entries_of, cpus, hot, mpi, waiting):
    """entries_of(cpu) -> [(polynomial, noise, for_k)]; hot: CPUs whose clock heat holds down; waiting: power of a core that waits, of that of
    one that multiplies"""
    peers = "\n".join('  port { peers: %d factor: "%.5g" }' % p for p in PEERS) + "  # 82 and 66 Gb/s"
    text = HEAD.format(port=PORT, peers=peers, waiting="%.2g" % waiting, **head)
    columns = list(zip(*[entries_of(c) for c in cpus]))
    for column in columns:
        text += "  " + entry(mean([p for p, _, _ in column]), column[0][1], column[0][2]) + "\n"
    text += OTHER_KERNELS.replace("@DTRSM@", dtrsm(mean([p for p, _, _ in columns[-1]])))
    for node, cpu in cpus:
        entries = " ".join(entry(*e) for e in entries_of((node, cpu)))
        headroom = 1 if (node, cpu) in hot else FULL_CLOCK / clock(entries_of((node, cpu))[-1][0])
        text += f'  group {{ hosts: "{node - 1}" socket: {cpu} headroom: "{headroom:.4g}" {entries} }}\n'
    return text + "}\n" + mpi


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("--thesis", required=True)
    parser.add_argument("--calibrations", required=True)
    parser.add_argument("--out", default="platforms")
    args = parser.parse_args()
    data = os.path.join(args.thesis, "data")
    modeling = os.path.join(data, "prediction/modeling")
    with tempfile.TemporaryDirectory(prefix="weft-dahu-") as folder:
        fit = Fit(program(args.weft), folder)
        days = fit.json("dgemm", os.path.join(modeling, "kernels/generative/dgemm_calibration.csv"))
        calls = fit.json("dgemm", call_file(os.path.join(
            data, "experiment/randomizing_sizes/fixing_K/dgemm_raw_data.csv"), folder), "--model", "full",
            "--for-k", ",".join(f"{k}:{bounds}" for k, bounds in PARTS))
        network = os.path.join(modeling, "network/pycewise")
        mpi = fit.json("network", os.path.join(network, "pycewise_data.csv"), os.path.join(network, "memcpy_small.csv"),
                       "--cluster", "dahu", "--latency", "200ns", "--eager-limit", EAGER)
        mpi = of_port(mpi["textproto"], mpi["bandwidth_Bps"])
    level = {(c["node"], c["cpu"]): c["mnk_s"] for c in days["cpus"]}
    cpus = sorted(level)
    measured = calls["cpus"]
    bounds = [b for _, b in PARTS] + [None]

    def fits(cpu):  # of one measured CPU: one of each part, then that of other k
        return cpu["parts"] + [cpu]

    noise = [(sum(fits(c)[i]["noise_intercept_s"] for c in measured) / len(measured),
              sum(fits(c)[i]["noise"] for c in measured) / len(measured)) for i in range(len(bounds))]
    # Each fit relative to what the same CPU's days say, mean over the CPUs that were measured: times another CPU's days.
    relative = [mean([polynomial(fits(c)[i], 1 / level[(c["node"], c["cpu"])]) for c in measured])
                for i in range(len(bounds))]

    hot = spring(args.calibrations, level)

    def by_k(of_cpu, deviation=None):
        return [({t: v * of_cpu for t, v in relative[i].items()}, deviation or noise[i], b) for i, b in enumerate(bounds)]

    def healthy(cpu):
        return by_k(level[cpu])

    def in_spring(cpu):
        return by_k(*hot[cpu]) if cpu in hot else healthy(cpu)

    mpi = mpi.rstrip()
    if not mpi.endswith("}"):
        sys.exit("weft fit network wrote no block")
    mpi = ("# weft fit network pycewise_data.csv memcpy_small.csv --cluster dahu --latency 200ns --eager-limit " + EAGER +
           "\n# Bandwidth factors are of the port: the largest messages, alone, reach 12.25 GB/s, more than it carries both ways.\n" + mpi[:-1])
    mpi += "  # While all cores multiply and poll. The notebook's table, halved; intercepts that are the wait for a poll left out.\n"
    mpi += segments("loaded_transfer", LOADED) + segments("loaded_local_transfer", LOADED_LOCAL) + "}\n"

    # Power goes as the clock to the third: ordinary code at the clock of multiplications takes that much less than at its own.
    waiting = (sum(clock(healthy(c)[-1][0]) for c in cpus) / len(cpus) / ORDINARY_CLOCK) ** 3

    heads = {
        "dahu": dict(
            title="Dahu cluster (Grid'5000, Grenoble) while all of its nodes were well.", name="dahu",
            summary="Dahu (Grid'5000, Grenoble): 32 hosts x 32 cores on one Omni-Path switch, all nodes well (2019-11 to 2020-12)",
            dgemm_source='source: "dgemm of every CPU: github Ezibenroc/thesis, data/prediction/modeling/kernels/generative/'
                         'dgemm_calibration.csv, medians"',
            dgemm_comment="By k as measured on node 5, times the level of each CPU; mean over the CPUs, the groups below give each its own."),
        "dahu-2019-04": dict(
            title="Dahu cluster (Grid'5000, Grenoble) in spring 2019, when nodes 13 to 16 cooled badly.", name="dahu-2019-04",
            summary="Dahu in spring 2019: dgemm of April 2019 (four hot nodes), otherwise as dahu",
            dgemm_source='source: "dgemm of every CPU: as dahu; of nodes 13 to 16 github Ezibenroc/mpi_calibration, dahu/blas/'
                         'dgemm_heterogeneous_model.ipynb of 2019-04-03 and 04 (2292da5, 81f75d1)"',
            dgemm_comment="As dahu, but level and scatter of the hot nodes (hosts 12 to 15), which are those of April 2019."),
    }
    for name, entries, held_by_heat in (("dahu", healthy, {}), ("dahu-2019-04", in_spring, hot)):
        path = os.path.join(args.out, name + ".textproto")
        with open(path, "w") as out:
            out.write(platform(heads[name], entries, cpus, held_by_heat, mpi, waiting))
        print(path)


if __name__ == "__main__":
    main()
