"""What weft schema prints describes what the verbs write: outputs of every verb are valid, spoiled ones are not, and no key of a schema
is one that no output has."""

import copy
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import outputs

try:
    import jsonschema
except ImportError:
    print("python3-jsonschema is not here", file=sys.stderr)
    sys.exit(1 if os.environ.get("CI", "false") not in ("", "false") else 77)

WEFT = os.environ["WEFT"]
SOURCE = pathlib.Path(__file__).resolve().parents[2]
# Keys, and keys that are null, which no command of outputs.py can be made to write in short time.
INTERRUPT = "an interrupt at the right moment"
LARGE = "a platform with more pairs of hosts than are walked, and no closed form"
UNSEEN = {
    "compare": {"#/properties/error": INTERRUPT},
    "sweep": {"#/properties/error": INTERRUPT},
    "predict": {"#/properties/error": INTERRUPT},
    "tune": {"#/properties/error": INTERRUPT, "#/properties/rows/items/properties/error_estimate null": "too few panels to estimate"},
    "replay": {f"#/properties/error/oneOf/2/properties/{key}": "a replay that is wrong" for key in ("kind", "message")} |
              {f"#/properties/sensitivity/properties/{key} null": "a trace with a series of exchanges, which no verb writes"
               for key in ("dT_dL", "dT_dL_link", "dT_dG", "dT_dcompute_s", "dT_dbandwidth_s", "slopes/items/properties/told_s")},
    "search": {f"#/properties/{key} null": INTERRUPT for key in ("worst_s", "mean_s", "median_s")} |
              {f"#/properties/{key} null": "all schedules of an exchange with over 10^308 symmetries" for key in ("schedules_evaluated", "symmetries")} |
             {"#/properties/error": INTERRUPT, "#/properties/step_load_bound_s": "a search that needs this bound"},
    "check": {f"#/properties/findings/items/properties/{key} null": "a finding on no single rank" for key in ("rank", "op")},
    "flows": {"#/properties/flows/items/properties/phases/items/properties/bottleneck null": "a flow that nothing holds back"},
    "platform show": {f"#/properties/{key} null": LARGE for key in ("diameter_hops", "mean_hops", "unreachable_pairs")},
}


# In a container the tests may run as root, and on fewer cores than ranks.
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


def run(arguments, folder="."):
    return subprocess.run([WEFT, *arguments], cwd=folder, capture_output=True, text=True, timeout=100, env={**os.environ, **MPI})


def listed():
    """The names that weft schema alone lists."""
    rows = run(["schema"]).stdout.splitlines()[1:]
    return [re.split(r"  +", row)[0] for row in rows if "urn:weft:" in row]


def schema(name):
    made = run(["schema", *name.split()])
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


def validator(of):
    return jsonschema.Draft202012Validator(of)


def resolve(root, pointer):
    for step in pointer.removeprefix("#/").split("/"):
        root = root[int(step)] if isinstance(root, list) else root[step]
    return root


def keys_of(root):
    """Every property that a schema names, as the JSON pointer to it."""
    found = set()

    def look(node, at):
        if isinstance(node, dict):
            for name in node.get("properties", {}):
                found.add(f"{at}/properties/{name}")
            for key, below in node.items():
                if key not in ("enum", "const", "required"):
                    look(below, f"{at}/{key}")
        elif isinstance(node, list):
            for i, below in enumerate(node):
                look(below, f"{at}/{i}")

    look(root, "#")
    return found


def nullable(root, pointer):
    """Whether null may stand there beside something else."""
    node = resolve(root, pointer)
    types = [node.get("type")] + [branch.get("type") for branch in node.get("oneOf", [])]
    return "null" in types or any(isinstance(t, list) and "null" in t for t in types) or None in node.get("enum", [])


def mark(root, node, at, instance, seen):
    """Adds to `seen` the properties of the schema `node`, found at `at`, that a valid `instance` has; with " null" behind it one that is null."""
    if "$ref" in node:
        mark(root, resolve(root, node["$ref"]), node["$ref"], instance, seen)
    for i, branch in enumerate(node.get("oneOf", [])):
        if validator({"$defs": root.get("$defs", {}), "allOf": [branch]}).is_valid(instance):
            mark(root, branch, f"{at}/oneOf/{i}", instance, seen)
    if isinstance(instance, dict):
        for name, value in instance.items():
            if name in node.get("properties", {}):
                seen.add(f"{at}/properties/{name}" + (" null" if value is None else ""))
                mark(root, node["properties"][name], f"{at}/properties/{name}", value, seen)
            elif isinstance(node.get("additionalProperties"), dict):
                mark(root, node["additionalProperties"], f"{at}/additionalProperties", value, seen)
    if isinstance(instance, list) and "items" in node:
        for value in instance:
            mark(root, node["items"], f"{at}/items", value, seen)


def objects(instance, path=()):
    """Every object within an output, and the path to it."""
    if isinstance(instance, dict):
        yield path, instance
    below = instance.items() if isinstance(instance, dict) else enumerate(instance) if isinstance(instance, list) else ()
    for key, value in below:
        yield from objects(value, path + (key,))


def at_path(instance, path):
    for step in path:
        instance = instance[step]
    return instance


class SchemaTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.schemas = {name: schema(name) for name in listed()}
        cls.documents = []  # (schema, command, output)
        cls.room = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.room.name)
        outputs.prepare(folder)
        cls.mpi = cls.recorded = outputs.program(folder)
        for name, command, code in [*outputs.COMMANDS, *([outputs.RECORD] if cls.recorded else [])]:
            cls.keep(name, command, code, folder)
        (folder / "help").mkdir()
        for name, command, code in outputs.examples(SOURCE, folder / "help", run, cls.schemas):
            cls.keep(name, command, code, folder / "help")

    @classmethod
    def keep(cls, name, command, code, folder):
        words = shlex.split(command)
        if code is None:  # no output of its own
            made = run(words, folder)
            assert made.returncode == 0, f"weft {command}: {made.stderr}"
            return
        end = words.index("--") if "--" in words else len(words)
        made = run(words[:end] + ["--quiet", "--json", "out.json"] + words[end:], folder)
        if made.returncode == 2 and "not supported: recording" in made.stderr:
            cls.recorded = False  # built without a recorder
            return
        assert made.returncode == code, f"weft {command}: {made.returncode} {made.stderr}"
        cls.documents.append((name, command, json.loads((folder / "out.json").read_text())))

    @classmethod
    def tearDownClass(cls):
        cls.room.cleanup()

    def test_every_schema_is_one_and_names_its_version(self):
        self.assertGreaterEqual(len(self.schemas), 20)
        for name, each in self.schemas.items():
            with self.subTest(name):
                jsonschema.Draft202012Validator.check_schema(each)
                self.assertRegex(each["$id"], r"^urn:weft:[a-z_]+/[0-9]+$")
                if "properties" in each:
                    self.assertEqual("weft." + each["$id"].removeprefix("urn:weft:"), each["properties"]["schema"]["const"])
                for reference in re.findall(r'"\$ref": "([^"]*)"', json.dumps(each)):
                    self.assertTrue(reference.startswith("#/$defs/"), "it stands alone: " + reference)
                    resolve(each, reference)

    def test_every_verb_with_json_has_one(self):
        verbs = [line.split()[0] for line in re.search(r"Subcommands:\n(.*?)\n\n", run(["help"]).stdout, re.S)[1].splitlines()
                 if re.match(r"  [a-z]", line)]
        self.assertGreaterEqual(len(verbs), 20)
        for verb in verbs:
            with self.subTest(verb):
                pages = [run(["help", verb]).stdout]
                for kind in re.findall(r"^  ([a-z][a-z0-9-]*) ", pages[0].partition("Subcommands:")[2], re.M):
                    pages.append(run(["help", verb, kind]).stdout)
                writes = any("--json" in page.split("Examples:")[0] for page in pages)
                self.assertEqual(writes and verb != "schema", any(name.split()[0] == verb for name in self.schemas))

    def test_what_the_verbs_write_is_valid(self):
        for name, command, output in self.documents:
            with self.subTest(command):
                errors = sorted(validator(self.schemas[name]).iter_errors(output), key=lambda e: e.json_path)
                self.assertEqual([], [f"{e.json_path}: {e.message[:300]}" for e in errors])
        self.assertGreaterEqual(len(self.documents), 80)
        self.assertEqual(set(self.schemas), {name for name, _, _ in self.documents} | (set() if self.recorded else {"record"}))
        if not self.mpi:
            self.assertIn(os.environ.get("CI", "false"), ("", "false"), "CI must have mpicc and mpirun")

    def test_every_key_is_described_once_with_its_unit(self):
        units = {"_s": "[s", "_Bps": "[bytes/s]", "_gflops": "[10^9 flop/s]", "_hops": "[hops]", "_flops": "[flop/s]"}
        for name, each in self.schemas.items():
            for pointer in sorted(keys_of(each)):
                node, key = resolve(each, pointer), pointer.rsplit("/", 1)[1]
                with self.subTest(f"{name} {pointer}"):
                    told = node.get("description") or resolve(each, node["$ref"]).get("description")
                    self.assertTrue(told, "no description")
                    types = node.get("type", [])
                    if "number" not in types and "integer" not in types:
                        continue
                    for ending, unit in units.items():
                        if key.endswith(ending):
                            self.assertIn(unit, told)
                    if "bytes" in key.split("_"):
                        self.assertIn("byte", told)

    def test_no_schema_takes_a_key_that_it_does_not_name(self):
        """Every object is closed: an added key is refused, and so is a string where a number stands."""
        tried = 0
        for name in self.schemas:
            documents = [d for n, _, d in self.documents if n == name]
            if not documents or name == "merge":
                continue
            check = validator(self.schemas[name])
            for path, inside in objects(documents[0]):
                if any(isinstance(step, int) and step > 0 for step in path):
                    continue  # one of each list
                spoiled = copy.deepcopy(documents[0])
                free = self.open_at(self.schemas[name], documents[0], path)
                if not free:
                    at_path(spoiled, path)["never_heard_of"] = 1
                    self.assertFalse(check.is_valid(spoiled), f"{name}: a key was added at {path}")
                for key in inside:
                    if isinstance(inside[key], (int, float)) and not isinstance(inside[key], bool):
                        spoiled = copy.deepcopy(documents[0])
                        at_path(spoiled, path)[key] = "12 ms"
                        self.assertFalse(check.is_valid(spoiled), f"{name}: a string for the number {key} at {path}")
                        tried += 1
        self.assertGreater(tried, 300)

    def test_what_scripts_rely_on_must_be_there(self):
        """The keys that the contract of each output promises; what it says is absent at times is not among them."""
        for name, path, keys in outputs.PROMISED:
            output = next(o for n, _, o in self.documents if n == name)
            self.assertTrue(validator(self.schemas[name]).is_valid(output))
            for key in keys.split():
                spoiled = copy.deepcopy(output)
                del at_path(spoiled, path)[key]
                self.assertFalse(validator(self.schemas[name]).is_valid(spoiled), f"{name}: {key} was removed at {path}")

    @staticmethod
    def open_at(root, document, path):
        """Whether the object there has names of its own (kinds of operations, classes of links)."""
        nodes = [root]

        def flat(node):
            yield node
            if "$ref" in node:
                yield from flat(resolve(root, node["$ref"]))
            for branch in node.get("oneOf", []):
                yield from flat(branch)

        for step in path:
            below = []
            for node in [f for n in nodes for f in flat(n)]:
                if isinstance(step, int):
                    below += [node["items"]] if "items" in node else []
                elif step in node.get("properties", {}):
                    below.append(node["properties"][step])
                elif isinstance(node.get("additionalProperties"), dict):
                    below.append(node["additionalProperties"])
            nodes = below
        return any(isinstance(f.get("additionalProperties"), dict) for n in nodes for f in flat(n))

    def test_every_key_of_a_schema_is_written_by_some_command(self):
        """So a key that no verb writes any more does not stay. What files share counts wherever it is seen."""
        shared = json.loads((SOURCE / "schemas/common.json").read_text())["$defs"]

        def split(name, pointers):
            common = {p for p in pointers if p.startswith("#/$defs/") and p.split("/")[2] in shared}
            return common, {(name, p) for p in pointers - common}

        named, seen = set(), set()
        for name, each in self.schemas.items():
            if name in ("merge", "report") or (name == "record" and not self.recorded):
                continue  # others' keys
            keys = keys_of(each)
            common, own = split(name, keys | {f"{key} null" for key in keys if nullable(each, key)})
            named |= common | own
            marked = set()
            for n, _, output in self.documents:
                if n == name:
                    mark(each, each, "#", output, marked)
            common, own = split(name, marked)
            seen |= common | own
        allowed = {(name, pointer) for name, pointers in UNSEEN.items() for pointer in pointers}
        self.assertEqual([], sorted(map(str, named - seen - allowed)), "no command writes these")
        self.assertEqual([], sorted(map(str, allowed & seen)), "these are written: not exceptions any more")

    def test_slips_are_answered(self):
        for words, meant in ((["repaly"], "did you mean replay?"), (["platform"], "one of list, show, check"),
                             (["platform", "shwo"], "did you mean show?"), (["search", "halo"], "nothing behind search"), (["predict", "hlp"], "one of hpl"),
                             (["completion"], "one of record")):
            made = run(["schema", *words])
            self.assertEqual((made.returncode, made.stdout), (2, ""), words)
            self.assertIn(meant, made.stderr)
        self.assertEqual(schema("predict hpl"), schema("predict"))


if __name__ == "__main__":
    unittest.main()
