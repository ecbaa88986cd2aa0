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
--host: panels take the time of the host's cores, with MKL (docs/kernels.md), PFACT left, NBMIN 2 as in NVIDIA's input files; --rate: of dgemm,
where no run is to calibrate it. --program nvidia: its program as docs/hpl.md, 12, has it on A100, which sends through the host's memory.
"""
import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

from host_blas import host_blas

PEAK = 4.7e12
# NVIDIA's readme of its HPL for CUDA 9 prints, as an example, what the program measured for a rank of four in a node with P100: copies by the host's cores,
# dgemm by NB (Gflop/s), messages within the node, and two copies at once over one way alone (8.7 of 5.4 + 5.8 GB/s).
README = dict(copy=16.8, gemm={32: 45, 64: 88, 128: 137, 256: 164, 512: 186}, ranks=4, local=8.189, both=8.7 / (5.4 + 5.8))
CORE = 11.0  # GB/s that one core copies, and bytes moved for one counted, as on the A100 nodes (a100.py)
TRAFFIC = 1.72
CALL = 3  # us, as there
MEMORY = (16280 - 1072) * 2**20  # of a P100 less what NVIDIA's program leaves on an A100


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
    if rochpl and options.host:
        copies += ''.join(f'  kernel {{ name: "{k}" rate: "{rate / 1e12:.9g}Tflops" }}\n' for k in
                          ('device_dgemm', 'device_dtrsm_left', 'device_dtrsm_right'))
        copies += ''.join(f'  kernel {{ name: "{k}" bandwidth: "732.2GB/s" }}\n' for k in
                          ('device_dgemv', 'device_dtrsv', 'device_daxpy', 'device_dlatcpy', 'device_dlaswp'))
        copies += host_kernels(options, gpus) + '  roofline: "sum"\n'
    rest = '' if rochpl and options.host else f'  kernel {{ name: "*" rate: "{rate / 1e12:.9g}Tflops" }}\n'
    eager = '64KiB' if rochpl else '1TiB'
    return f'''name: "p100"
{text}host {{
  speed: "4.7Tflops"
  memory_bandwidth: "732.2GB/s"
{copies}{rest}}}
mpi {{ eager_limit: "{eager}" send_overhead: "400ns" recv_overhead: "400ns"{transfer} }}
'''


def host_kernels(options, gpus):
    """Of the cores that a rank has: its share of the node's."""
    scale, cores = README['ranks'] / gpus, options.cores // gpus
    gemm = {nb: r * scale for nb, r in README['gemm'].items()}
    one = {nb: r * README['ranks'] / options.cores for nb, r in README['gemm'].items()}
    copy = min(README['copy'] * scale, cores * CORE)
    return host_blas(cores, TRAFFIC * copy, gemm, TRAFFIC * CORE, one, CORE, CALL, (gemm[512], copy), 2, 64000)  # AVX2


def nvidia_platform(options, nodes, gpus, rate):
    link = 11.6 * 2**30 / 1e9
    tree = ['sockets=1', 'switches=1', f'cards={gpus}', 'gpus=1', 'nics=1', 'mem=on', f'bw={link:.6g}GB/s', f'both_bw={2 * link * README["both"]:.6g}GB/s',
            'lat=150ns', 'nic_bw=100GB/s', 'mem_bw=100GB/s']
    host = host_kernels(options, gpus)
    device = ''.join(f'  kernel {{ name: "{k}" rate: "{rate / 1e12:.9g}Tflops" }}\n' for k in
                     ('device_dgemm', 'device_dtrsm_left', 'device_dtrsm_right'))
    device += ''.join(f'  kernel {{ name: "{k}" bandwidth: "732.2GB/s" }}\n' for k in
                      ('device_dgemv', 'device_dtrsv', 'device_daxpy', 'device_dlatcpy', 'device_dlaswp'))
    device += ''.join(f'  kernel {{ name: "{k}" place: "links" }}\n' for k in ('copy_to_device', 'copy_to_host'))
    return f'''name: "p100"
topology {{ family: "crossbar" set: "n={nodes}" set: "bw=6.8GB/s" set: "lat=345ns" }}
node {{ family: "pcie" {' '.join(f'set: "{v}"' for v in tree)} }}
host {{
  ranks: {gpus}
  roofline: "sum"
{device}{host}}}
mpi {{ eager_limit: "8KiB" local_latency: "0.7us" local_bandwidth: "{README['local']}GB/s" send_overhead: "400ns" recv_overhead: "400ns" }}
'''


def local_grid(p, q, on_node, pmap):
    """Rows and columns of processes on a node with which rocHPL fills the grid as NVIDIA's program is taken to, whatever the nodes are: with PMAP
    row all that it accepts, with PMAP column those that make whole columns; None where it has no such."""
    for local_p in range(1, on_node + 1):
        local_q = on_node // local_p
        whole = local_p == p or (p % local_p == 0 and local_q == 1)
        if on_node % local_p == 0 and p % local_p == 0 and q % local_q == 0 and (pmap == 'row' or whole):
            return local_p, local_q
    return None


def grid_words(options, folder, p, q, on_node):
    """Flags that lay P x Q on nodes. Where rocHPL cannot go down columns, row by row with each process where it would be."""
    pmap, words = options.pmap, []
    if options.program == 'rochpl':
        local = local_grid(p, q, on_node, pmap)
        if local is None:
            pmap, local = 'row', local_grid(p, q, on_node, 'row')
            path = os.path.join(folder, 'columns.map')
            with open(path, 'w') as f:
                f.write(''.join(f'{col * p + row}\n' for row in range(p) for col in range(q)))
            words = ['--map', 'file:' + path]
        words += ['--local-p', str(local[0]), '--local-q', str(local[1]), '--l1', 'transposed']
    return ['--p', str(p), '--q', str(q), '--pmap', pmap] + words


def predict(options, folder, row, rate, share):
    path = os.path.join(folder, 'p100.textproto')
    nodes, ranks = int(row['nodes']), int(row['gpus'])
    with open(path, 'w') as f:
        f.write(nvidia_platform(options, nodes, ranks // nodes, rate) if options.program == 'nvidia' else
                platform(options, nodes, ranks // nodes, rate, share))
    words = ['--depth', '1', '--swap', 'long'] if options.program == 'netlib' else []
    if options.host:
        words = ['--pfact', 'left', '--rfact', 'left', '--nbmin', '2']
    if options.program == 'nvidia':
        with open(path + '.map', 'w') as f:  # processes of the host
            for node in range(nodes):
                f.write(f'node{node}.mem0\n' * (ranks // nodes))
        words = ['--map', 'file:' + path + '.map', '--pfact', 'left', '--rfact', 'left', '--nbmin', '2', '--split', str(options.split)]
        words += [] if options.no_memory_limit else ['--device-memory', f'{MEMORY}B']
    p, q = grid(ranks, options.tall)
    run = subprocess.run([options.weft, 'predict', 'hpl', '--on', path, '--n', row['n'], '--nb', str(options.nb), '--bcast', '1rM', '--quiet',
                          '--json', '-', '--program', options.program] + grid_words(options, folder, p, q, ranks // nodes) + words,
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
    parser.add_argument('--program', choices=['netlib', 'rochpl', 'nvidia'], default='netlib')
    parser.add_argument('--rate', type=float, help='Tflop/s of dgemm, instead of calibrating it on 1N1G')
    parser.add_argument('--host', action='store_true', help='panels take the time of the host\'s cores')
    parser.add_argument('--cores', type=int, default=24, help='of a node')
    parser.add_argument('--split', type=float, default=0.6)
    parser.add_argument('--no-memory-limit', action='store_true')
    parser.add_argument('--second', metavar='ROW')
    parser.add_argument('--share', type=float, default=1)
    parser.add_argument('--rows', metavar='ROW,...')
    options = parser.parse_args()
    with open(options.runs, newline='') as f:
        rows = {r['configuration']: r for r in csv.DictReader(f)}
    wanted = options.rows.split(',') if options.rows else list(rows)
    with tempfile.TemporaryDirectory() as folder:
        one = rows['1N1G']
        rate = options.rate * 1e12 if options.rate else calibrate(PEAK / 2, PEAK, lambda r: predict(options, folder, one, r, 1), float(one['measured_gflops']))
        share = options.share
        if options.second:
            two = rows[options.second]
            share = calibrate(0, 1, lambda s: predict(options, folder, two, rate, s), float(two['measured_gflops']))
        print(f'rate: {rate / PEAK:.4f} of peak, {"given" if options.rate else "from 1N1G"}; share of a message: {share:.4f}'
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
