#!/usr/bin/env python3
"""HPL on 1 to 4 nodes of 1 to 4 P100, replayed over PCIe trees under an FDR switch, against 15 measured runs.

p100_cluster.py WEFT RUNS.csv      columns configuration,nodes,gpus,n,measured_gflops,mcl_estimate_gflops

One constant is calibrated, on the row 1N1G: the rate of dgemm and of every other kernel that arithmetic bounds.
PCIe 11.6GiB/s (measured on such links, SC'16), FDR 6.8GB/s, memory 732.2GB/s; NB 384, the most square P x Q, BCAST 1ringM, DEPTH 1,
SWAP long. GPUs are ranks; messages between GPUs of a node cross its switch, others the node's network card.
"""
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

PEAK = 4.7e12


def grid(ranks):
    p = math.isqrt(ranks)
    while ranks % p:
        p -= 1
    return p, ranks // p


def platform(nodes, gpus, rate):
    tree = ['sockets=1', 'switches=1', f'cards={gpus}', 'gpus=1', 'gen=3', 'width=16', 'bw=11.6GiB/s', 'lat=150ns']
    network = ['n=%d' % nodes, 'bw=6.8GB/s', 'lat=345ns']

    def block(kind, family, values):
        return '%s { family: "%s" %s }\n' % (kind, family, ' '.join('set: "%s"' % v for v in values))

    if nodes == 1:
        text = block('topology', 'pcie', tree)
    else:
        text = block('topology', 'crossbar', network) + block('node', 'pcie', tree + ['nics=1'])
    return f'''name: "p100"
{text}host {{
  speed: "4.7Tflops"
  memory_bandwidth: "732.2GB/s"
  kernel {{ name: "*" rate: "{rate / 1e12:.9g}Tflops" }}
}}
mpi {{ eager_limit: "16KiB" send_overhead: "400ns" recv_overhead: "400ns" }}
'''


def predict(weft, folder, nodes, gpus, n, rate):
    path = os.path.join(folder, 'p100.textproto')
    with open(path, 'w') as f:
        f.write(platform(nodes, gpus, rate))
    p, q = grid(nodes * gpus)
    run = subprocess.run([weft, 'predict', 'hpl', '--on', path, '--n', str(n), '--nb', '384', '--p', str(p), '--q', str(q),
                          '--depth', '1', '--bcast', '1rM', '--swap', 'long', '--quiet', '--json', '-'],
                         capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    return json.loads(run.stdout)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    weft, runs = sys.argv[1:]
    with open(runs, newline='') as f:
        rows = list(csv.DictReader(f))
    with tempfile.TemporaryDirectory() as folder:
        one = next(r for r in rows if r['configuration'] == '1N1G')
        low, high = PEAK / 2, PEAK
        for _ in range(30):
            rate = (low + high) / 2
            if predict(weft, folder, 1, 1, int(one['n']), rate)['gflops'] < float(one['measured_gflops']):
                low = rate
            else:
                high = rate
        print(f'rate: {high / PEAK:.4f} of peak, from 1N1G')
        print('| row | P x Q | measured, Gflop/s | Weft | error | layered model |\n| --- | --- | --- | --- | --- | --- |')
        errors, layered = [], []
        for r in rows:
            nodes, ranks, truth = int(r['nodes']), int(r['gpus']), float(r['measured_gflops'])
            ours = predict(weft, folder, nodes, ranks // nodes, int(r['n']), high)['gflops']
            theirs = float(r['mcl_estimate_gflops'])
            print('| %s | %d x %d | %s | %s | %+.1f %% | %+.1f %% |' % (
                r['configuration'], *grid(ranks), f'{truth:,.0f}', f'{ours:,.0f}', 100 * (ours / truth - 1),
                100 * (theirs / truth - 1)))
            if r is not one:
                errors.append(abs(ours / truth - 1))
                layered.append(abs(theirs / truth - 1))
        print('mean without 1N1G: %.1f %%, layered model %.1f %%' % (
            100 * sum(errors) / len(errors), 100 * sum(layered) / len(layered)))


main()
