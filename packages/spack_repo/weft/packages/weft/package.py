"""Weft for Spack 1.0 or newer, from the checkout that this file is in:

    spack repo add packages/spack_repo/weft    # in the checkout
    spack install weft

tests/python/spack_test.py holds what it depends on against what CMake looks for.
"""

import pathlib

from spack.package import *
from spack_repo.builtin.build_systems.cmake import CMakePackage

CHECKOUT = pathlib.Path(__file__).resolve().parents[5]
# Released versions, each with a tag "v" + number: the headings of CHANGELOG.md.
RELEASES = ()


class Weft(CMakePackage):
    """How long will this MPI job take on that interconnect, and why? A trace-driven replay of MPI programs, HPL first."""

    git = CHECKOUT.as_uri()
    license("Apache-2.0")

    version("main", branch="main")
    for number in RELEASES:
        version(number, tag=f"v{number}")

    variant("recorder", default=True, description="Record MPI programs with the MPI library of this spec")
    variant("otf2", default=True, description="Read and write OTF2 archives")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("boost@1.74:")
    depends_on("cli11@2:")
    depends_on("fmt@9:")
    depends_on("lapack")
    depends_on("libarchive@3.6:")
    depends_on("nlohmann-json@3.11:")
    depends_on("protobuf@3.12:3.21")  # later ones need Abseil, which CMake's own search for them does not link
    depends_on("pugixml@1.11:")
    depends_on("xxhash@0.8:")
    depends_on("zlib-api")
    depends_on("zstd@1.4:")
    depends_on("mpi", when="+recorder")
    depends_on("otf2@3:", when="+otf2")
    depends_on("googletest +gmock", type="test")
    depends_on("python@3.9:", type="test")
    depends_on("py-jsonschema@4:", type="test")

    def cmake_args(self):
        arguments = [
            self.define("WEFT_BUILD_TESTS", self.run_tests),
            self.define_from_variant("WEFT_BUILD_RECORDER", "recorder"),
            self.define_from_variant("WEFT_OTF2", "otf2"),
        ]
        if self.spec.satisfies("+recorder"):
            arguments.append(self.define("WEFT_MPICC", self.spec["mpi"].mpicc))
        return arguments

    def test_known_answers(self):
        """weft selftest: what is installed computes right"""
        which(self.prefix.bin.weft)("selftest")
