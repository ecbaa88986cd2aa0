#!/usr/bin/env python3
"""bench/studies/host_blas.py: the entries that it writes for a host, read as a platform reads them, against what MKL was seen to do and what was measured."""
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "studies"))
from host_blas import host_blas, segments  # noqa: E402

ALL = {32: 104, 64: 180, 128: 301, 256: 386, 512: 435}
ONE = {32: 26, 64: 31, 128: 51, 256: 58, 512: 60}


def cost(text, name, m, n=1, k=1):
    """(us before, Gflop/s, GB/s) of a call: the first entry that holds it."""
    for line in text.splitlines():
        keys = dict(re.findall(r'(\w+): "([^"]*)"', line))
        if keys["name"] not in (name, "*"):
            continue
        bounds = [(keys.get("for_" + d), v) for d, v in (("m", m), ("n", n), ("k", k))]
        if all(b is None or int((b + "-" + b).split("-")[0]) <= v <= float((b if "-" in b else b + "-" + b).split("-")[1] or "inf") for b, v in bounds):
            number = lambda key, unit: float(keys[key][:-len(unit)]) if key in keys else 0
            return number("intercept", "us"), number("rate", "Gflops"), number("bandwidth", "GB/s")
    raise AssertionError("no entry for " + name)


class HostBlas(unittest.TestCase):
    def setUp(self):
        self.text = host_blas(16, 74, ALL, 19, ONE, 11, 3, (850, 43), 8)

    def test_dgemm_takes_what_was_measured(self):
        for table in (ALL, ONE):
            for first, last, rate, bandwidth in segments(table):
                for nb in (s for s in table if first <= s <= (last or 10**9)):
                    seconds = (1 / rate if rate else 0) + (12 / nb / bandwidth if bandwidth else 0)
                    self.assertAlmostEqual(1 / seconds, table[nb], places=6)

    def test_dgemm_is_shared_beyond_128000_products(self):
        for k, rows in ((2, 32001), (3, 14223), (4, 8001), (7, 2613), (8, 2001), (12, 889)):  # where MKL 2020.4 begins, 16 threads
            self.assertEqual(cost(self.text, "dgemm", rows, k, k)[0], 3)
            self.assertEqual(cost(self.text, "dgemm", rows - 1, k, k)[0], 0)

    def test_vectors_take_a_thread_for_each_grain(self):
        for name, grain in (("dscal", 4096), ("idamax", 4096), ("daxpy", 2048)):
            self.assertEqual(cost(self.text, name, 2 * grain - 1), (0, 0, 19))
            self.assertEqual(cost(self.text, name, 2 * grain + 1), (3, 0, 57))
            self.assertEqual(cost(self.text, name, 3 * grain + 1), (3, 0, 74))  # four fill the memory

    def test_dgemv_is_shared_from_4096_numbers_a_thread(self):
        for n, rows in ((1, 65536), (2, 32768), (4, 16384)):
            self.assertEqual(cost(self.text, "dgemv", rows, n), (3, 0, 74))
            self.assertEqual(cost(self.text, "dgemv", rows - 1, n), (0, 0, 19))

    def test_dger_and_copies_are_one_threads(self):
        for m in (100, 10000, 80000):
            self.assertEqual(cost(self.text, "dger", m, 7), (0, 0, 19))
            self.assertEqual(cost(self.text, "dlacpy", m, 320), (0, 0, 11))
        self.assertAlmostEqual(cost(self.text, "dcopy", 640)[2], 19 * 16 / 96, places=4)  # 1.5 lines of 64 bytes for 16 bytes

    def test_one_core_shares_nothing(self):
        text = host_blas(1, 26, ONE, 26, ONE, 15, 3, (60, 15), 8)
        self.assertNotIn("intercept", text)
        self.assertEqual(cost(text, "daxpy", 80000), (0, 0, 26))


if __name__ == "__main__":
    unittest.main()
