#!/usr/bin/env python3
"""A second decoder of DUMPI traces, to compare the reader with: dumpi_twin.py DIRECTORY_OR_META...

Shares nothing with the reader: the layouts come from data/dumpi_layouts.tsv (read from sst-dumpi a4c8bf5, as the first
line says), the rest was written from the description of the format. Keeps whole files in memory; standard library only.

Prints, for each trace, "trace PATH" and lines "KEY VALUE": ranks; calls of each function that can be an operation (tests that said no
are tests_no, polls that missed iprobe_miss); bytes of them; messages and their bytes (starts of persistent sends are
messages); the longest and the sum of the times between calls that are not local, in nanoseconds.
"""
import os
import re
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MAGIC = b"\xff\xaa\xdd\x44UMPI"
END = 293


def layouts():
    table = {}
    for line in open(os.path.join(HERE, "..", "data", "dumpi_layouts.tsv")):
        if line.startswith("#"):
            continue
        number, name, text = (line.rstrip("\n").split("\t") + [""])[:3]
        text = text.replace("N:argv(argc x C; before 0.6.2 one more i32 after argc)", "N2:argv")
        text = text.replace("N:argv(argc x C)", "N:argv")
        fields = []
        for word in text.split():
            kind, field, condition = re.match(r"(\w+):([\w.]+)(?:\[(.*)\])?$", word).groups()
            fields.append((kind, field, condition))
        table[int(number)] = (name, fields)
    return table


TABLE = layouts()

LOCAL = re.compile(
    r"(Comm_(rank|size|group|compare|test_inter|remote_\w+|get_\w+|set_\w+|create_(keyval|errhandler)|free_keyval|"
    r"delete_attr|call_errhandler|disconnect)|Group_\w+|Type_\w+|Address|Get_(count|elements|address|processor_name|version)|"
    r"Op_\w+|W(time|tick)|Initialized|Finalized|Keyval_\w+|Attr_\w+|Topo_test|Dims_create|Graph(dims)?_(get|map|neigh\w+)|"
    r"Cart(dim)?_(get|rank|coords|shift|map)|Err\w+|Buffer_\w+|(Unp|P)ack\w*|Test_cancelled|Info_\w+|Function_\w+|"
    r"(Alloc|Free)_mem|Is_thread_main|Query_thread|Abort)$")

USUAL = dict(zip(range(2, 28), (1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20)))


class Rank:
    def __init__(self, path):
        self.b = open(path, "rb").read()
        assert self.b[:8] == MAGIC, path
        for words in (8, 7, 6, 5):
            at = len(self.b) - 8 * words
            if self.b[at:at + 8] == MAGIC:
                break
        else:
            raise ValueError(path + ": no index")
        offsets = struct.unpack_from(">%dQ" % (words - 1), self.b, at + 8)
        header, body = offsets[-4], offsets[-3]
        self.sizes = ()
        if words == 8 and offsets[0]:
            n, = struct.unpack_from(">I", self.b, offsets[0])
            self.sizes = struct.unpack_from(">%dI" % n, self.b, offsets[0] + 4)
        self.version = tuple(self.b[header:header + 3])
        self.at = body + 8
        self.end = header
        self.made = {}

    def get(self, code):
        value, = struct.unpack_from(">" + code, self.b, self.at)
        self.at += struct.calcsize(code)
        return value

    def array(self, code):
        n = self.get("I")
        return [self.get(code) for _ in range(n)]

    def text(self):
        n = self.get("I")
        self.at += n

    def statuses(self, mask):
        out = []
        if mask & 3:
            for _ in range(self.get("I")):
                s = dict(bytes=self.get("i"), source=self.get("i"), cancelled=self.get("B"), error=self.get("B"))
                s["tag"] = self.get("i") if self.version >= (0, 6, 3) else None
                out.append(s)
        return out

    def field(self, kind, name, call, mask, a):
        simple = {"i": "i", "h": "H", "b": "B", "q": "q"}
        if kind in simple:
            return self.get(simple[kind])
        if kind == "S":
            return self.statuses(mask)
        if (call == "Cart_get" and name == "coords" and self.version < (0, 6, 8)) or \
           (call == "Type_struct" and name == "indices" and self.version < (0, 6, 9)):
            return [self.get("i")]
        if kind in ("N", "N2"):
            if kind == "N2" and self.version < (0, 6, 2):
                self.get("i")
            for _ in range(a["argc"]):
                self.text()
            return None
        if kind == "C":
            return self.text()
        if kind == "CC":
            for _ in range(self.get("I")):
                self.text()
            return None
        if kind == "CCC":
            for _ in range(self.get("I")):
                for _ in range(self.get("I")):
                    self.text()
            return None
        if kind == "II":
            return [self.array("i") for _ in range(self.get("I"))]
        return self.array({"I": "i", "H": "H", "B": "B"}[kind])

    def records(self):
        while True:
            number = self.get("H")
            if number == END:
                assert self.at == self.end, "the stream does not end at the header"
                return
            name, fields = TABLE[number]
            mask = self.get("B")
            thread = self.get("H") if mask & 64 else 0
            times = {}
            for bit in (4, 8):
                if mask & bit:
                    s0, n0, s1, n1 = self.get("H"), self.get("I"), self.get("H"), self.get("I")
                    times[bit] = (s0 * 10**9 + n0, s1 * 10**9 + n1)
            if mask & 128:
                self.at += 16 * self.get("B")
            a = {}
            for kind, field, condition in fields:
                if condition:
                    left, right = condition.split("==")
                    if a[left] != a[right]:
                        continue
                a[field] = self.field(kind, field, name, mask, a)
            yield name, a, times.get(8, times.get(4))

    def size(self, t):
        if t in self.made:
            return self.made[t]
        if t < len(self.sizes) and (self.sizes[t] or t >= 28):
            return self.sizes[t]
        return USUAL[t]

    def make_type(self, name, a):
        """Sizes of the datatypes that the stream constructs."""
        if "newtype" not in a:
            return
        try:
            lengths = a.get("lengths", a.get("blocklengths"))
            if "oldtypes" in a:
                size = sum(n * self.size(t) for n, t in zip(lengths, a["oldtypes"]))
            elif name == "Type_create_subarray":
                size = self.size(a["oldtype"])
                for n in a["subsizes"]:
                    size *= n
            elif name == "Type_create_darray":
                return
            elif lengths is not None:
                size = sum(lengths) * self.size(a["oldtype"])
            else:
                size = a.get("count", 1) * a.get("blocklength", 1) * self.size(a["oldtype"])
            self.made[a["newtype"]] = size
        except KeyError:
            pass


def bytes_of(r, name, a):
    """What one call moves: as sent by a send, posted by a receive, of a collective what docs/dumpi.md says."""
    pick = None
    if name == "Sendrecv":
        return a["sendcount"] * r.size(a["sendtype"])
    if name in ("Gather", "Gatherv"):
        root = a["commrank"] == a["root"]
        if name == "Gatherv" and root:
            return a["recvcounts"][a["commrank"]] * r.size(a["recvtype"])
        pick = ("recv" if root else "send")
    if name in ("Scatter", "Scatterv"):
        root = a["commrank"] == a["root"]
        if name == "Scatterv" and root:
            return a["sendcounts"][a["commrank"]] * r.size(a["sendtype"])
        pick = ("send" if root else "recv")
    if name in ("Allgather", "Alltoall"):
        pick = "recv"
    if pick:
        return a[pick + "count"] * r.size(a[pick + "type"])
    if name == "Allgatherv":
        return a["sendcount"] * r.size(a["sendtype"])
    if name == "Alltoallv":
        return sum(a["sendcounts"]) * r.size(a["sendtype"]) or sum(a["recvcounts"]) * r.size(a["recvtype"])
    if name == "Alltoallw":
        return sum(n * r.size(t) for n, t in zip(a["sendcounts"], a["sendtypes"]))
    if name == "Reduce_scatter":
        return sum(a["recvcounts"]) * r.size(a["datatype"])
    if "count" in a and "datatype" in a:
        return a["count"] * r.size(a["datatype"]) if a["count"] else 0
    return 0


def paths_of(where):
    if os.path.isdir(where):
        metas = [f for f in os.listdir(where) if f.endswith(".meta")]
        where = os.path.join(where, metas[0])
    keys = dict(line.strip().split("=", 1) for line in open(where) if "=" in line)
    prefix = os.path.join(os.path.dirname(where), os.path.basename(keys["fileprefix"]))
    return ["%s-%04d.bin" % (prefix, r) for r in range(int(keys["numprocs"]))]


def count(where):
    out = {"ranks": 0, "messages": 0, "message_bytes": 0, "between_ns": 0, "longest_ns": 0}

    def add(key, n=1):
        out[key] = out.get(key, 0) + n

    for path in paths_of(where):
        r = Rank(path)
        add("ranks")
        last = None
        wrap = 0
        starts = {}
        for name, a, times in r.records():
            r.make_type(name, a)
            if LOCAL.match(name):
                continue
            if times:
                start, stop = times[0] + wrap, times[1] + wrap
                while last is not None and start < last - 32768 * 10**9:
                    wrap += 65536 * 10**9
                    start, stop = start + 65536 * 10**9, stop + 65536 * 10**9
                if stop < start - 32768 * 10**9:
                    wrap += 65536 * 10**9
                    stop += 65536 * 10**9
                if last is not None:
                    out["between_ns"] += max(0, start - last)
                    out["longest_ns"] = max(out["longest_ns"], start - last)
                last = stop if last is None else max(last, stop)
            if name == "Testsome" and a["outcount"] <= 0 or "flag" in a and name.startswith("Test") and not a["flag"]:
                add("tests_no")
                continue
            if name == "Iprobe" and not a["flag"]:
                add("iprobe_miss")
                continue
            key = {"Init_thread": "init", "Sendrecv_replace": "sendrecv", "Cart_sub": "comm_split",
                   "Graph_create": "comm_create"}.get(name, name.lower())
            add(key)
            moved = bytes_of(r, name, a)
            if name in ("Sendrecv", "Sendrecv_replace"):
                add("recv")
                add("recv_bytes", a["recvcount"] * r.size(a["recvtype"]) if name == "Sendrecv" else moved)
            if moved:
                add(key + "_bytes", moved)
            to = a.get("dest")
            if to is not None and name.endswith("_init"):
                starts[a["request"]] = moved if to >= 0 else None
            elif to is not None and to >= 0:
                add("messages")
                out["message_bytes"] += moved
            for request in ([a["request"]] if name == "Start" else a["requests"] if name == "Startall" else []):
                if starts.get(request) is not None:
                    add("messages")
                    out["message_bytes"] += starts[request]
    return out


if __name__ == "__main__":
    for where in sys.argv[1:]:
        print("trace", where)
        for key, value in sorted(count(where).items()):
            print(key, value)
