"""Names of segments that a killed test run has left are removed by the next one."""

import os
import pathlib
import re

import fyris


def pytest_sessionstart():
    prefix = f"fyris-{os.geteuid()}-"
    for file in pathlib.Path("/dev/shm").glob(f"{prefix}pytest-*"):
        found = re.fullmatch(r"pytest-(?:[a-z]+-)*(\d+)-[0-9a-f]{32}", file.name.removeprefix(prefix))
        if found and not pathlib.Path("/proc", found[1]).exists():
            fyris.unlink(file.name.removeprefix(prefix))
