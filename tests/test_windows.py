"""What Windows lacks is not needed: the package is used without it."""

import subprocess
import sys

WITHOUT = """
import os, random, shutil, sys
import torch  # this platform's other packages may use what follows
del os.register_at_fork
sys.modules["fcntl"] = sys.modules["resource"] = None  # importing them is an error
real_open = os.open

def open_no_folders(path, *args, **kwargs):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", str(path))
    return real_open(path, *args, **kwargs)

os.open = open_no_folders
shutil._use_fd_functions = False  # which opens folders, where there is such a thing
"""

IMPORT_ALL = """
import importlib, pkgutil, sliceflow
for module in pkgutil.walk_packages(sliceflow.__path__, "sliceflow."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""

USE = """
from sliceflow.cli import main
main(["fit", "rows.csv", "--out", "table"])
main(["sample", "table", "--n", "3", "--out", "new.csv"])
main(["fit", "rows.csv", "--y", "b", "--out", "run", "--schedule", "quick", "--effort", "0.1"])
main(["sample", "run", "--y", "2.5", "--n", "3", "--out", "given.csv"])
"""


def run(code, folder):
    subprocess.run([sys.executable, "-c", WITHOUT + code], cwd=folder, check=True, timeout=300)


def test_every_module_is_imported(tmp_path):
    run(IMPORT_ALL, tmp_path)


def test_a_table_is_fitted_saved_and_sampled(tmp_path):
    (tmp_path / "rows.csv").write_text(
        "a,b\n" + "".join(f"{i % 7},{i * i % 11}.5\n" for i in range(50))
    )
    run(USE, tmp_path)
    for name in ("new.csv", "given.csv"):
        assert len((tmp_path / name).read_text().splitlines()) == 4
