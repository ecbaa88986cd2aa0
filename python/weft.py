"""Runs Weft and gives what it says as dicts and rows. Standard library only, Python 3.9 or newer.

    import weft
    runs = weft.run("compare", "T.weft", on=["torus-16", "crossbar-16"])
    for row in runs.rows:
        print(row["platform"], row["makespan_s"])
    runs.to_csv("runs.csv")

Keys, types and units of an output: weft.schema("compare"), or `weft schema compare`.
"""

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile

__all__ = ["Result", "WeftError", "find", "read", "run", "schema", "to_csv"]

# The list of an output that its rows are; None: the output is one row. An output that is not here has the list "rows".
_ROWS = {
    "weft.replay": "ranks", "weft.flows": "flows", "weft.search": "transfers", "weft.check": "findings", "weft.info": "kinds",
    "weft.platform": "by_class", "weft.platform_list": "platforms", "weft.platform_check": "findings", "weft.route": "links",
    "weft.selftest": "cases", "weft.record": "traces", "weft.predict": "runs", "weft.import": None, "weft.export": None,
    "weft.generate": None,
}


class WeftError(Exception):
    """A command that did not exit with 0.

    exit_code  1 the run found something (deadlock, unmatched message, failed check), 2 usage or not supported, 3 bad input or
               an output that cannot be written, 70 a bug in Weft, 130 and 143 after an interrupt
    message    what Weft said
    command    the words that were run
    result     the Result, where JSON was written nevertheless (exit codes 1, 130 and 143), else None
    """

    def __init__(self, exit_code, message, command, result=None):
        super().__init__(f"{message} (exit code {exit_code})")
        self.exit_code = exit_code
        self.message = message
        self.command = command
        self.result = result


class Result:
    """One output: `data` is the JSON object, result["key"] a value of it, `rows` its table.

    text       what Weft printed for people; "" if it was read from a file
    notes      what it said on standard error
    exit_code  0, or 1 if the run found something and run() was called with check=False
    """

    def __init__(self, data, text="", notes="", exit_code=0):
        self.data = data
        self.text = text
        self.notes = notes
        self.exit_code = exit_code

    def __getitem__(self, key):
        return self.data[key]

    def __contains__(self, key):
        return key in self.data

    def get(self, key, default=None):
        return self.data.get(key, default)

    def __repr__(self):
        return f"<weft.Result {self.get('schema', 'CSV')}: {', '.join(self.data)}>"

    @property
    def schema(self):
        """"weft.replay/1"; None for a CSV file."""
        return self.get("schema")

    @property
    def rows(self):
        """The table of this output: ranks of a replay, rows of a comparison, runs of a prediction, ..."""
        name = (self.schema or "").partition("/")[0]
        if name == "weft.fit":
            name_of_list = "cpus" if self["kind"] == "kernel" else "segments"
        else:
            name_of_list = _ROWS.get(name, "rows")
        if name_of_list is None or (name == "weft.predict" and "runs" not in self):
            return [_flat({k: v for k, v in self.data.items() if k not in ("schema", "command", "version", "warnings")})]
        return self.table(name_of_list) if name_of_list in self else []  # the ranks of a large replay are left out

    def table(self, path):
        """Another list of the output as rows: "links", "critical_path.by_region".

        Objects within a row become keys with dots ("causes.latency_s"), lists stay lists. Of an object whose keys are names the
        rows begin with "name"; a list of such objects' lists is one table ("segments" of weft fit network).
        """
        at = self.data
        for key in path.split("."):
            at = at[key]
        if isinstance(at, dict):
            rows = []
            for name, value in at.items():
                for one in value if isinstance(value, list) else [value]:
                    rows.append({"name": name, **(_flat(one) if isinstance(one, dict) else {"value": one})})
            return rows
        return [_flat(one) if isinstance(one, dict) else {"value": one} for one in at]

    def to_csv(self, file=None):
        """The rows as CSV, into a file (a path or an open one), or as text."""
        return to_csv(self.rows, file)


def _flat(row, prefix=""):
    out = {}
    for key, value in row.items():
        if isinstance(value, dict):
            out.update(_flat(value, prefix + key + "."))
        else:
            out[prefix + key] = value
    return out


def _cell(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value) if isinstance(value, (list, dict)) else value


def to_csv(rows, file=None):
    """Rows (dicts) as CSV: columns in the order in which keys first come. Returns the text if `file` is None."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    if columns:
        out.writerow(columns)
    out.writerows([_cell(row.get(key)) for key in columns] for row in rows)
    if file is None:
        return text.getvalue()
    if hasattr(file, "write"):
        file.write(text.getvalue())
    else:
        with open(file, "w", encoding="utf-8", newline="") as opened:
            opened.write(text.getvalue())
    return None


# As JSON and Weft write numbers; int() and float() also take "1_000", " 7", "007" and "nan", and names of hosts may look so.
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
# Columns of names, which stay text whatever they look like.
_NAMES = {"dst_host", "dst_name", "error", "label", "link", "map", "model", "most_waited_link", "name", "platform", "routing", "src_host",
          "src_name", "trace", "why", "worst_link"}
# What `weft flows --csv` calls src and dst are names, too: its lines begin so. Elsewhere they are numbers of hosts or ranks.
_HEAD_OF_FLOWS = ["id", "src", "dst", "bytes_B"]


def _value(column, cell, names=_NAMES):
    """A number where the cell is one, None where it is empty."""
    if cell == "":
        return None
    if column.rpartition(".")[2] in names:
        return cell
    if cell in ("true", "false"):
        return cell == "true"
    number = _NUMBER.fullmatch(cell)
    if number is None:
        return cell
    return float(cell) if number[2] or number[3] else int(cell)


def read(path):
    """An output that was written before, JSON or CSV, as a Result. Of a CSV file result["rows"] are its lines."""
    # Names from traces may be bytes that are no UTF-8; a CSV has them as they are.
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        text = file.read()
    if text.lstrip()[:1] == "{":
        data = json.loads(text)
        if not str(data.get("schema", "")).startswith("weft."):
            raise ValueError(f"{path}: no output of Weft: it has no schema")
        return Result(data)
    lines = list(csv.reader(io.StringIO(text)))
    if not lines or not lines[0]:
        raise ValueError(f"{path}: neither JSON nor CSV")
    names = _NAMES | {"src", "dst"} if lines[0][:4] == _HEAD_OF_FLOWS else _NAMES
    rows = []
    for number, line in enumerate(lines[1:], 2):
        if len(line) != len(lines[0]):
            raise ValueError(f"{path}: row {number} has {len(line)} cells, the head has {len(lines[0])}")
        rows.append({key: _value(key, cell, names) for key, cell in zip(lines[0], line)})
    return Result({"rows": rows})


def find(weft=None):
    """The weft program: the argument, else what the variable WEFT names, else the one in PATH."""
    for name, where in ((weft, "the argument weft"), (os.environ.get("WEFT"), "the variable WEFT"), ("weft", "PATH")):
        if not name:
            continue
        found = shutil.which(os.fspath(name))
        if found is None:
            raise FileNotFoundError(f"no program {os.fspath(name)} ({where} names it); install Weft, or set WEFT to its path")
        return os.path.abspath(found)
    return None


def _text(value):
    if isinstance(value, (list, tuple)):
        return ",".join(_text(one) for one in value)
    return os.fspath(value) if hasattr(value, "__fspath__") else str(value)


def _flag(name, value):
    """The words of one keyword argument."""
    name = "--" + name.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [name]
    if isinstance(value, dict):
        # label=platform, key=value; several values of a key are those that a sweep tries.
        value = [f"{key}={_text(one)}" for key, one in value.items()]
    return [f"{name}={_text(one)}" for one in (value if isinstance(value, (list, tuple)) else [value])]


def words(verb, *inputs, **flags):
    """The command that run() runs, without the program: for a look at it, or for a script.

    Flags stand behind the inputs, but before a "--" among them: behind it are the words of another program (record).
    """
    out = [*verb.split(), *(_text(one) for one in inputs)]
    ours = _before_dashes(out)
    return out[:ours] + [word for name, value in flags.items() for word in _flag(name, value)] + out[ours:]


def _before_dashes(command):
    return command.index("--") if "--" in command else len(command)


def run(verb, *inputs, weft=None, check=True, cwd=None, timeout=None, **flags):
    """Runs `weft verb inputs --flags` and returns its Result.

    verb     "replay", "predict hpl", "platform show"
    inputs   the words behind it: traces, files, platforms
    flags    critical_path=True is --critical-path; on="torus-16", on=["torus-16", "crossbar-16"], on={"old": "torus-16"} (with
             labels); set={"bw": "25Gbps"}, in a sweep set={"bw": ["25Gbps", "100Gbps"]}; output="out.weft". A value None
             or False leaves the flag out; a list gives it several times.
    check    False: a run that found something (exit code 1) is returned, not raised. Everything else is always raised.
    cwd      folder to run in; timeout: seconds, then subprocess.TimeoutExpired

    Raises WeftError if Weft did not exit with 0, FileNotFoundError if it is not there.
    """
    for name in ("json", "quiet"):
        if name in flags:
            raise TypeError(f"run() itself needs --{name}; the result is what it returns")
    program = find(weft)
    command = words(verb, *inputs, **flags)
    # A file, not standard output: a verb may write something else there, and people's text comes along.
    with tempfile.TemporaryDirectory(prefix="weft-") as folder:
        path = os.path.join(folder, "out.json")
        ours = _before_dashes(command)
        done = subprocess.run([program, *command[:ours], f"--json={path}", *command[ours:]], cwd=cwd, timeout=timeout,
                              stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", errors="replace", check=False)
        result = None
        code = done.returncode if done.returncode >= 0 else 128 - done.returncode  # a signal, as shells count it
        if code in (0, 1, 128 + signal.SIGINT, 128 + signal.SIGTERM) and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                result = Result(json.load(file), done.stdout, done.stderr, code)
    if code == 0 and result is not None:
        return result
    if code == 1 and result is not None and not check:
        return result
    raise WeftError(code, done.stderr.strip() or "no JSON was written", ["weft", *command], result)


def schema(name, weft=None):
    """The JSON Schema of an output, as a dict: schema("replay"), schema("platform show")."""
    done = subprocess.run([find(weft), "schema", *name.split()], stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8",
                          check=False)
    if done.returncode != 0:
        raise WeftError(done.returncode, done.stderr.strip(), ["weft", "schema", name])
    return json.loads(done.stdout)
