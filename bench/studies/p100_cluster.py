#!/usr/bin/env python3
"""HPL on 1 to 4 nodes of 1 to 4 P100, replayed over PCIe trees under an FDR switch, against 15 measured runs.

p100_cluster.py WEFT RUNS.csv [options]    columns configuration,nodes,gpus,n,measured_gflops,mcl_estimate_gflops

The rate of dgemm, and of every other kernel that arithmetic bounds, is calibrated on the row 1N1G. With --second ROW, the largest
share of the narrowest link on its way that one message gets (bandwidth_factor) is calibrated on that row; with --share it is given.
PCIe 11.6GiB/s (measured on such links, SC'16), FDR 6.8GB/s, memory 732.2GB/s; NB 384, BCAST 1ringM, DEPTH 1, SWAP long; the most
square P x Q, P <= Q, or with --tall P >= Q as NVIDIA's input files. GPUs are ranks; messages between GPUs of a node cross its
switch, others the node's network card. A rank is a GPU and the thread on the host that drives it: while the GPU updates, the host
takes a panel that comes in, so messages need no receiver that waits (eager_limit). --rows prints some rows only.

--program rochpl replays AMD's program, whose accelerators work beside their hosts (docs/hpl.md, 11): the split update with its own
0.6, the panel copied over PCIe. Nothing else changes, but that hosts take part in messages themselves, so eager_limit is 64KiB.
"""
import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

PEAK = 4.7e12


def grid(ranks, tall):
    p = math.isqrt(ranks)
    while ranks % p:
        p -= 1
    return (ranks // p, p) if tall else (p, ranks // p)


def platform(options, nodes, gpus, rate, share):
    tree = ['sockets=1', 'switches=1', f'cards={gpus}', 'gpus=1', 'gen=3', 'width=16', 'bw=11.6GiB/s', 'lat=150ns']
    network = ['n=%d' % nodes, 'bw=6.8GB/s', 'lat=345ns']

    def block(kind, family, values):
        return '%s { family: "%s" %s }\n' % (kind, family, ' '.join('set: "%s"' % v for v in values))

    if nodes == 1:
        text = block('topology', 'pcie', tree)
    else:
        text = block('topology', 'crossbar', network) + block('node', 'pcie', tree + ['nics=1'])
    transfer = '' if share == 1 else f' transfer {{ latency_factor: "1" bandwidth_factor: "{share:.9g}" }}'
    rochpl = options.program == 'rochpl'
    copies = ''.join(f'  kernel {{ name: "{k}" bandwidth: "11.6GiB/s" }}\n' for k in ('copy_to_host', 'copy_to_device')) if rochpl else ''
    eager = '64KiB' if rochpl else '1TiB'
    return f'''name: "p100"
{text}host {{
  speed: "4.7Tflops"
  memory_bandwidth: "732.2GB/s"
{copies}  kernel {{ name: "*" rate: "{rate / 1e12:.9g}Tflops" }}
}}
mpi {{ eager_limit: "{eager}" send_overhead: "400ns" recv_overhead: "400ns"{transfer} }}
'''


def predict(options, folder, row, rate, share):
    path = os.path.join(folder, 'p100.textproto')
    nodes, ranks = int(row['nodes']), int(row['gpus'])
    with open(path, 'w') as f:
        f.write(platform(options, nodes, ranks // nodes, rate, share))
    p, q = grid(ranks, options.tall)
    run = subprocess.run([options.weft, 'predict', 'hpl', '--on', path, '--n', row['n'], '--nb', str(options.nb), '--p', str(p), '--q', str(q),
                          '--pmap', options.pmap, '--bcast', '1rM', '--quiet', '--json', '-', '--program', options.program]
                         + (['--depth', '1', '--swap', 'long'] if options.program == 'netlib' else []),
                         capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    return json.loads(run.stdout)['gflops']


def calibrate(low, high, gflops_of, measured):
    """The value in (low, high] with which gflops_of, which grows, gives measured; high where even that is too slow."""
    for _ in range(30):
        middle = (low + high) / 2
        if gflops_of(middle) < measured:
            low = middle
        else:
            high = middle
    return high


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('weft')
    parser.add_argument('runs')
    parser.add_argument('--nb', type=int, default=384)
    parser.add_argument('--tall', action='store_true')
    parser.add_argument('--pmap', choices=['row', 'col'], default='row')
    parser.add_argument('--program', choices=['netlib', 'rochpl'], default='netlib')
    parser.add_argument('--second', metavar='ROW')
    parser.add_argument('--share', type=float, default=1)
    parser.add_argument('--rows', metavar='ROW,...')
    options = parser.parse_args()
    with open(options.runs, newline='') as f:
        rows = {r['configuration']: r for r in csv.DictReader(f)}
    wanted = options.rows.split(',') if options.rows else list(rows)
    with tempfile.TemporaryDirectory() as folder:
        one = rows['1N1G']
        rate = calibrate(PEAK / 2, PEAK, lambda r: predict(options, folder, one, r, 1), float(one['measured_gflops']))
        share = options.share
        if options.second:
            two = rows[options.second]
            share = calibrate(0, 1, lambda s: predict(options, folder, two, rate, s), float(two['measured_gflops']))
        print(f'rate: {rate / PEAK:.4f} of peak, from 1N1G; share of a message: {share:.4f}'
              + (f', from {options.second}' if options.second else ''))
        print('| row | P x Q | measured, Gflop/s | Weft | error | layered model |\n| --- | --- | --- | --- | --- | --- |')
        errors, layered = [], []
        for name in wanted:
            row, truth = rows[name], float(rows[name]['measured_gflops'])
            ours, theirs = predict(options, folder, row, rate, share), float(row['mcl_estimate_gflops'])
            print('| %s | %d x %d | %s | %s | %+.1f %% | %+.1f %% |' % (
                name, *grid(int(row['gpus']), options.tall), f'{truth:,.0f}', f'{ours:,.0f}', 100 * (ours / truth - 1),
                100 * (theirs / truth - 1)), flush=True)
            if name not in ('1N1G', options.second):
                errors.append(abs(ours / truth - 1))
                layered.append(abs(theirs / truth - 1))
        if errors:
            print('mean of the %d rows that nothing was calibrated on: %.1f %%, layered model %.1f %%' % (
                len(errors), 100 * sum(errors) / len(errors), 100 * sum(layered) / len(layered)))


main()
