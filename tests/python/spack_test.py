"""The Spack recipe against CMake: what it depends on, which options it sets, which versions there are. Without Spack: the recipe is run with
stand-ins for Spack's directives, which write down what they are told."""

import pathlib
import re
import sys
import types
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
RECIPE = SOURCE / "packages/spack_repo/weft/packages/weft/package.py"
# What CMake looks for, and the package of Spack that it is in. None: part of every system.
SPACK = {
    "fmt": "fmt", "Boost": "boost", "Protobuf": "protobuf", "CLI11": "cli11", "nlohmann_json": "nlohmann-json", "pugixml": "pugixml", "ZLIB": "zlib-api",
    "PkgConfig": "pkgconfig", "LAPACK": "lapack", "Threads": None, "libzstd": "zstd", "libxxhash": "xxhash", "libarchive": "libarchive",
    "otf2": "otf2", "GTest": "googletest", "Python3": "python",
}
# What CMake does not look for by name.
OTHERS = {"c", "cxx", "cmake", "mpi", "py-jsonschema"}


class FakePackage:
    def __init__(self, on, run_tests):
        self.on, self.run_tests = on, run_tests
        self.spec = type("Spec", (), {"satisfies": lambda _, text: text.removeprefix("+") in on,
                                      "__getitem__": lambda _, name: types.SimpleNamespace(mpicc="the-mpicc")})()

    def define(self, name, value):
        return (name, value)

    def define_from_variant(self, name, variant):
        return (name, variant in self.on)


def recipe():
    told = {"version": {}, "variant": {}, "depends_on": {}, "license": {}}

    def directive(kind):
        def tell(name, **more):
            package, *_ = re.split(r"[@ ]", name)
            told[kind][package if kind == "depends_on" else name] = (name, more)
        return tell

    spack = types.ModuleType("spack.package")
    for kind in told:
        setattr(spack, kind, directive(kind))
    cmake = types.ModuleType("cmake")
    cmake.CMakePackage = FakePackage
    modules = {"spack": types.ModuleType("spack"), "spack.package": spack, "spack_repo.builtin.build_systems.cmake": cmake}
    for name in ("spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"):
        modules[name] = types.ModuleType(name)
    sys.modules.update(modules)
    scope = {"__file__": str(RECIPE)}
    try:
        exec(compile(RECIPE.read_text(), RECIPE, "exec"), scope)
    finally:
        for name in modules:
            del sys.modules[name]
    return scope, told


def cmake_files():
    for path in [SOURCE / "CMakeLists.txt", *SOURCE.glob("*/CMakeLists.txt"), *SOURCE.glob("tests/*/CMakeLists.txt"), *SOURCE.glob("cmake/*.cmake")]:
        relative = path.relative_to(SOURCE).parts
        # A benchmark is no part of a package; tests/consume is a program of its own.
        if relative[0] != "bench" and relative[:2] != ("tests", "consume") and not relative[0].startswith("build"):
            yield path.read_text()


class SpackTest(unittest.TestCase):
    def setUp(self):
        self.scope, self.told = recipe()
        self.cmake = "\n".join(re.sub(r"#.*", "", text) for text in cmake_files())

    def test_it_depends_on_what_cmake_looks_for(self):
        found = {}
        for name, rest in re.findall(r"find_package\((\w+)([^)]*)\)", self.cmake):
            found.setdefault(name, rest)
        for rest in re.findall(r"pkg_check_modules\(\w+([^)]*)\)", self.cmake):
            name, _, least = rest.split()[-1].partition(">=")
            found[name] = " " + least
        self.assertGreaterEqual(len(found), 14)
        self.assertEqual(set(found) - set(SPACK), set(), "CMake looks for it: which package of Spack is it?")
        wanted = {SPACK[name] for name in found} - {None}
        self.assertEqual(wanted, set(self.told["depends_on"]) - OTHERS)
        for name, rest in found.items():
            least = re.match(r" ([0-9][0-9.]*)", rest)
            if least and SPACK[name]:
                spec = self.told["depends_on"][SPACK[name]][0]
                lowest = re.search(r"@([0-9.]+)", spec)[1]
                self.assertEqual([int(n) for n in (lowest + ".0").split(".")][:2], [int(n) for n in (least[1] + ".0").split(".")][:2], name)
        least = re.search(r"cmake_minimum_required\(VERSION ([0-9.]+)\)", self.cmake)[1]
        self.assertIn(f"cmake@{least}:", self.told["depends_on"]["cmake"][0])

    def test_what_only_tests_need_is_for_tests_only(self):
        for name, (_, more) in self.told["depends_on"].items():
            self.assertEqual(more.get("type") == "test", name in ("googletest", "python", "py-jsonschema"), name)
            self.assertEqual(more.get("when"), {"mpi": "+recorder", "otf2": "+otf2"}.get(name), name)

    def test_its_options_are_those_of_cmake(self):
        options = set(re.findall(r"option\((WEFT_\w+)", self.cmake)) | set(re.findall(r"set\((WEFT_MPICC) .*CACHE", self.cmake))
        for on, tests, wanted in (({"recorder", "otf2"}, False, {"WEFT_BUILD_TESTS": False, "WEFT_BUILD_RECORDER": True, "WEFT_OTF2": True, "WEFT_MPICC": "the-mpicc"}),
                                  (set(), True, {"WEFT_BUILD_TESTS": True, "WEFT_BUILD_RECORDER": False, "WEFT_OTF2": False})):
            given = dict(self.scope["Weft"](on, tests).cmake_args())
            self.assertEqual(given, wanted)
            self.assertLessEqual(set(given), options)
        self.assertEqual(set(self.told["variant"]), {"recorder", "otf2"})

    def test_its_versions_are_those_of_the_changelog(self):
        released = re.findall(r"^## (\d+\.\d+\.\d+)", (SOURCE / "CHANGELOG.md").read_text(), re.M)
        self.assertEqual(list(self.scope["RELEASES"]), released)
        self.assertEqual({name: more for name, (_, more) in self.told["version"].items()},
                         {"main": {"branch": "main"}, **{number: {"tag": "v" + number} for number in released}})
        self.assertEqual(self.scope["Weft"].git, SOURCE.as_uri())
        self.assertEqual(list(self.told["license"]), ["Apache-2.0"])


if __name__ == "__main__":
    unittest.main()
