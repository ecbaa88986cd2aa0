#!/usr/bin/env python3
"""docs/studies.md shows what bench/studies/studies.py prints: the tables of the studies that take seconds, row by row."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Studies(unittest.TestCase):
    def test_the_page_has_the_tables_that_the_script_prints(self):
        page = (ROOT / "docs" / "studies.md").read_text()
        for study in (["placement", "--quick"], ["two-jobs"], ["fat-tree-traffic"]):
            with self.subTest(study=study[0]), tempfile.TemporaryDirectory() as folder:
                out = os.path.join(folder, "made")
                done = subprocess.run([sys.executable, "-B", ROOT / "bench" / "studies" / "studies.py", os.environ["WEFT"], *study,
                                       "--out", out], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                table = [line for line in done.stdout.splitlines() if line.startswith("|")]
                self.assertGreater(len(table), 3)
                self.assertIn("\n".join(table), page)

    def test_the_program_may_be_a_name_of_the_path(self):
        weft = pathlib.Path(os.environ["WEFT"]).resolve()
        script = ROOT / "bench" / "studies" / "studies.py"
        path = {**os.environ, "PATH": f"{weft.parent}{os.pathsep}{os.environ['PATH']}"}
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-B", script, weft.name, "two-jobs", "--out", "made"], cwd=folder, env=path, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = subprocess.run([sys.executable, "-B", script, "no-such-weft", "two-jobs"], cwd=folder, env=path, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (1, "no-such-weft: no such program\n"))


if __name__ == "__main__":
    unittest.main()
