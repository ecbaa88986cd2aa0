"""The program that a study runs: a path, or a name that PATH has."""
import os
import shutil
import sys


def program(name):
    found = shutil.which(name)
    if found is None:
        sys.exit(f"{name}: no such program")
    return os.path.abspath(found)  # studies run it in folders of their own
