"""The kernels are compiled beside the server, in the order in which visitors need them."""

import subprocess
import sys
from pathlib import Path

from adgm.warmup import STAGES

ROOT = Path(__file__).resolve().parents[1]


def test_every_stage_is_told_when_its_kernels_are_there():
    words = [sys.executable, "-m", "adgm.warmup"]
    found = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == list(STAGES)
