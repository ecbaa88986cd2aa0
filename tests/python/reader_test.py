"""python/weft.py: what it runs, what it reads, what it says when something is wrong; and the example that uses it."""

import ast
import csv
import io
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "python"))
import weft  # noqa: E402

SAMPLE = SOURCE / "traces/samples/hpl_4x4_2000_64.weft"
PAIR = "0 init\n1 init\n0 send 1 0 1000000 6\n1 recv 0 0 1000000 6\n0 finalize\n1 finalize\n"
DEADLOCK = "0 init\n1 init\n0 recv 1 0 8 6\n1 recv 0 0 8 6\n0 finalize\n1 finalize\n"


class ReaderTest(unittest.TestCase):
    def setUp(self):
        room = tempfile.TemporaryDirectory()
        self.addCleanup(room.cleanup)
        self.room = pathlib.Path(room.name)
        (self.room / "pair.txt").write_text(PAIR)
        (self.room / "deadlock.txt").write_text(DEADLOCK)

    def program(self, text):
        path = self.room / "fake"
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_a_replay_is_what_the_command_line_says(self):
        # 1 MB at 1 GB/s over two links of 1 us each: 1.002 ms.
        out = weft.run("replay", self.room / "pair.txt", on="crossbar:n=2,bw=1GB/s,lat=1us", raw="eager")
        self.assertAlmostEqual(out["makespan_s"], 1.002e-3, delta=1e-9)
        self.assertEqual((out.schema, out.exit_code), ("weft.replay/1", 0))
        self.assertIn("2 ranks take 1 ms", out.text)
        self.assertEqual([row["rank"] for row in out.rows], [0, 1])
        self.assertAlmostEqual(out.rows[1]["causes.transfer_s"] + out.rows[1]["causes.latency_s"], 1.002e-3, delta=1e-9)
        self.assertEqual([row["bytes"] for row in out.table("links")], [1000000, 1000000])

    def test_flags_are_words(self):
        self.assertEqual(weft.words("sweep", "a", "b c", on={"x": "torus-16", "y": "p,q"}, set={"bw": ["1GB/s", "2GB/s"], "lat": "1us"}),
                         ["sweep", "a", "b c", "--on=x=torus-16", "--on=y=p,q", "--set=bw=1GB/s,2GB/s", "--set=lat=1us"])
        self.assertEqual(weft.words("predict hpl", n=1000, critical_path=True, noise=False, seed=None, output=pathlib.Path("d/f")),
                         ["predict", "hpl", "--n=1000", "--critical-path", "--output=d/f"])
        self.assertEqual(weft.words("compare", "t", map=("block", "cyclic")), ["compare", "t", "--map=block", "--map=cyclic"])
        # Behind "--" stand the words of another program, which are its own whatever they are.
        self.assertEqual(weft.words("record", "--", "mpirun", "-n", 2, "./p", "--", "x", output="T.weft", clock="wall"),
                         ["record", "--output=T.weft", "--clock=wall", "--", "mpirun", "-n", "2", "./p", "--", "x"])
        self.assertEqual(weft.words("record -o T.weft --", "./p", keep_spool=True), ["record", "-o", "T.weft", "--keep-spool", "--", "./p"])

    def test_flags_stand_before_a_program(self):
        tells = self.program('for word; do case $word in --json=/*) echo "{\\"words\\": \\"$*\\"}" >"${word#--json=}";; esac; done\n')
        told = weft.run("record", "--", "./p", "--json=mine", weft=tells, output="T.weft")["words"].split()
        self.assertEqual(told[:2] + told[3:], ["record", "--output=T.weft", "--", "./p", "--json=mine"])
        self.assertTrue(told[2].startswith("--json=/"), told)

    def test_rows_are_those_of_the_csv_that_weft_writes(self):
        both = self.room / "runs.csv"
        out = weft.run("compare", SAMPLE, on={"a": "torus-16", "b": "crossbar-16"}, map=["block", "random"], csv=both)
        theirs = weft.read(both)
        self.assertEqual(len(out.rows), 4)
        for ours, row in zip(out.rows, theirs.rows):
            for key in ("platform", "map", "makespan_s", "slowdown", "hosts", "mean_hops", "worst_link", "why", "most_waited_s"):
                self.assertEqual(ours[key], row[key], key)

    def test_what_is_inside_has_names_with_dots(self):
        runs = weft.run("compare", self.room / "pair.txt", on="crossbar:n=2,bw=1GB/s,lat=1us", critical_path=True)
        parts = {key: value for key, value in runs.rows[0].items() if key.startswith("critical_path.parts.")}
        self.assertAlmostEqual(sum(parts.values()), runs.rows[0]["makespan_s"], delta=1e-12)
        self.assertGreaterEqual(parts["critical_path.parts.latency_s"], 2e-6)
        kinds = {row["name"]: row["count"] for row in weft.run("info", self.room / "pair.txt").rows}
        self.assertEqual((kinds["send"], kinds["recv"]), (1, 1))

    def test_what_is_written_is_read_back(self):
        out = weft.run("sweep", SAMPLE, on="torus-16", set={"bw": ["1GB/s", "10GB/s"]})
        path = self.room / "rows.csv"
        out.to_csv(path)
        self.assertEqual(path.read_text(), out.to_csv())
        lists = [key for key in out.rows[0] if isinstance(out.rows[0][key], list)]
        self.assertTrue(lists)
        for ours, row in zip(out.rows, weft.read(path).rows):
            for key, value in ours.items():
                self.assertEqual(json.loads(row[key]) if key in lists else row[key], value, key)
        kept = self.room / "sweep.json"
        kept.write_text(json.dumps(out.data))
        again = weft.read(kept)
        self.assertEqual((again.data, again.rows), (out.data, out.rows))
        opened = io.StringIO()
        again.to_csv(opened)
        self.assertEqual(opened.getvalue(), path.read_text())

    def test_cells_keep_what_they_are(self):
        rows = [{"name": 'a "quoted", one', "x": 1, "y": None}, {"name": "1_000", "x": 0.1, "z": True}, {"name": " 7", "x": -1e-300, "l": [1, "b"]}]
        text = weft.to_csv(rows)
        self.assertEqual(next(csv.reader(io.StringIO(text))), ["name", "x", "y", "z", "l"])
        path = self.room / "t.csv"
        path.write_text(text)
        back = weft.read(path).rows
        self.assertEqual([(r["name"], r["x"], r["y"], r["z"]) for r in back],
                         [('a "quoted", one', 1, None, None), ("1_000", 0.1, None, True), (" 7", -1e-300, None, None)])
        self.assertEqual(json.loads(back[2]["l"]), [1, "b"])
        self.assertEqual(weft.to_csv([]), "")
        # Names are no numbers, and numbers are what is written as one; names of bytes that are no UTF-8 are read as well.
        path.write_bytes(b"name,label,x\n42,1e3,007\nr\xff,true,inf\ntrue,nan,nan\n7,-1,-0.5\n")
        self.assertEqual([list(r.values()) for r in weft.read(path).rows],
                         [["42", "1e3", "007"], ["r\ufffd", "true", "inf"], ["true", "nan", "nan"], ["7", "-1", -0.5]])

    def test_hosts_are_names_and_ranks_are_numbers(self):
        (self.room / "numbered.dot").write_text('graph { 100 [kind=host]; 200 [kind=host]; 100 -- 200 [bandwidth="1GB/s", latency="1us"]; }\n')
        (self.room / "flows.csv").write_text("src,dst,bytes,start\n100,200,1MiB,0\n")
        path = self.room / "hosts.csv"
        platform = f"file:path={self.room / 'numbered.dot'}"
        flows = weft.run("flows", self.room / "flows.csv", on=platform, csv=path)
        flow = weft.read(path).rows[0]
        self.assertEqual((flow["id"], flow["src"], flow["dst"], flow["bytes_B"]), (0, "100", "200", 1 << 20))
        flows.to_csv(path)
        flow = weft.read(path).rows[0]
        self.assertEqual((flow["src"], flow["dst"], flow["src_name"], flow["dst_name"]), (0, 1, "100", "200"))
        weft.run("search", "halo", on=platform, grid="2x1", csv=path)
        transfer = weft.read(path).rows[0]
        self.assertEqual((transfer["rank"], transfer["dst"], transfer["src_host"], transfer["dst_host"]), (0, 1, "100", "200"))

    def test_every_output_has_rows(self):
        trace = self.room / "pair.txt"
        (self.room / "flows.csv").write_text("src,dst,bytes,start\n0,1,1MiB,0\n")
        (self.room / "osu.txt").write_text("# OSU MPI Latency Test v7.3\n" + "".join(f"{2**i} {2 + 2**i / 1e4}\n" for i in range(23)))
        small = {"n": 500, "nb": 50, "p": 2, "q": 2}
        for verb, inputs, flags, key, count in (
                ("info", [trace], {}, "count", 4), ("check", [trace], {}, None, 0), ("flows", [self.room / "flows.csv"], {"on": "crossbar-16"}, "finish_s", 1),
                ("platform show", ["torus-16"], {}, "bandwidth_Bps", 2), ("platform list", [], {}, "hosts", None), ("route", ["0", "5"], {"on": "torus-16"}, "class", None),
                ("platform check", ["torus-16"], {}, None, 0), ("predict hpl", [], {"on": "crossbar-16", **small}, "phases.update_s", 1),
                ("predict hpl", [], {"on": "crossbar-16", **small, "n": "500,600"}, "gflops", 2), ("search halo", [], {"on": "cs-storm", "grid": "2x2"}, "finish_s", 8),
                ("fit network", [self.room / "osu.txt"], {}, "intercept_s", None), ("import", [trace], {"output": self.room / "p.weft"}, "file_bytes", 1),
                ("export", [trace], {"to": "text", "output": "-"}, "ops", 1), ("generate ring", [], {"ranks": 4, "output": self.room / "r.weft"}, "engine.wall_s", 1),
                ("selftest", [], {}, "passed", None)):
            with self.subTest(verb):
                rows = weft.run(verb, *inputs, **flags).rows
                self.assertTrue(len(rows) == count if count is not None else rows, len(rows))
                for row in rows:
                    self.assertIn(key, row)
                    self.assertFalse([k for k, v in row.items() if isinstance(v, dict)], "flat")

    def test_what_is_wrong_is_an_error_with_its_code(self):
        for words, flags, code, told in (((self.room / "none.weft",), {"on": "torus-16"}, 3, "none.weft"), ((SAMPLE,), {"on": "tors-16"}, 3, "did you mean torus-16?"),
                                         ((SAMPLE,), {"on": "torus-16", "banana": 1}, 2, "no flag --banana")):
            with self.assertRaises(weft.WeftError) as caught:
                weft.run("replay", *words, **flags)
            self.assertEqual(caught.exception.exit_code, code, caught.exception)
            self.assertIn(told, caught.exception.message)
            self.assertIsNone(caught.exception.result)
        with self.assertRaises(TypeError):
            weft.run("replay", SAMPLE, on="torus-16", json="x")

    def test_a_finding_has_its_output(self):
        with self.assertRaises(weft.WeftError) as caught:
            weft.run("replay", self.room / "deadlock.txt", on="crossbar-16")
        self.assertEqual(caught.exception.exit_code, 1)
        self.assertIn("deadlock", caught.exception.message)
        self.assertEqual(caught.exception.result["error"]["cycle"], [0, 1])
        out = weft.run("replay", self.room / "deadlock.txt", on="crossbar-16", check=False)
        self.assertEqual((out.exit_code, out["error"]["kind"]), (1, "deadlock"))
        with self.assertRaises(weft.WeftError):
            weft.run("replay", self.room / "none.txt", on="crossbar-16", check=False)

    def test_programs_that_die_or_write_nothing(self):
        for script, code in (("kill -TERM $$\n", 143), ("echo broken >&2; exit 70\n", 70), ("exit 0\n", 0)):
            with self.assertRaises(weft.WeftError) as caught:
                weft.run("info", "t", weft=self.program(script))
            self.assertEqual(caught.exception.exit_code, code)
        # What an interrupted run has written is there.
        writes = 'for word; do case $word in --json=/*) echo "{\\"error\\": \\"interrupted\\"}" >"${word#--json=}";; esac; done\n'
        for signal, code in (("INT", 130), ("TERM", 143)):
            with self.assertRaises(weft.WeftError) as caught:
                weft.run("search halo", weft=self.program(writes + f"kill -{signal} $$\n"))
            self.assertEqual((caught.exception.exit_code, caught.exception.result["error"]), (code, "interrupted"))
        with self.assertRaises(subprocess.TimeoutExpired):
            weft.run("info", "t", weft=self.program("exec sleep 20\n"), timeout=0.2)

    def test_the_program_is_looked_for_where_it_is_said_to_be(self):
        fake = self.program("exit 0\n")
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        self.assertEqual(weft.find(fake), str(fake))
        self.assertEqual(weft.find(), os.path.abspath(before["WEFT"]))
        os.environ["WEFT"] = str(self.room / "nowhere")
        with self.assertRaisesRegex(FileNotFoundError, "the variable WEFT"):
            weft.find()
        del os.environ["WEFT"]
        os.environ["PATH"] = str(self.room)
        with self.assertRaisesRegex(FileNotFoundError, "PATH"):
            weft.find()
        fake.rename(self.room / "weft")
        self.assertEqual(weft.find(), str(self.room / "weft"))

    def test_files_that_are_none_of_ours_are_refused(self):
        for text, told in (("", "neither JSON nor CSV"), ('{"a": 1}', "no schema"), ("a,b\n1\n", "row 2 has 1 cells"), ("{", "Expecting")):
            path = self.room / "x"
            path.write_text(text)
            with self.assertRaisesRegex(ValueError, told):
                weft.read(path)

    def test_the_schema_is_that_of_the_output(self):
        self.assertEqual(weft.schema("platform show")["properties"]["schema"]["const"], weft.run("platform show", "torus-16").schema)
        with self.assertRaises(weft.WeftError):
            weft.schema("banana")

    def test_it_is_one_short_file_for_python_3_9_without_packages(self):
        text = (SOURCE / "python/weft.py").read_text()
        self.assertLessEqual(text.count("\n"), 400)
        tree = ast.parse(text, feature_version=(3, 9))
        names = {alias.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        self.assertFalse([node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)])
        if hasattr(sys, "stdlib_module_names"):
            self.assertLessEqual(names, set(sys.stdlib_module_names))

    def test_the_example_shows_what_weft_says(self):
        done = subprocess.run([sys.executable, "-B", SOURCE / "examples/compare_networks.py", SAMPLE, self.room], capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": str(SOURCE / "python")}, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^ideal +71\.9 ms")  # as README has it
        self.assertRegex(lines[3], r"^fat tree +80\.1 ms")
        self.assertEqual(len(weft.read(self.room / "networks.csv").rows), 4)
        self.assertEqual(len(weft.read(self.room / "bandwidths.csv").rows), 12)


if __name__ == "__main__":
    unittest.main()
