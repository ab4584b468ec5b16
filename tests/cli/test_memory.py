"""Little memory (`ulimit -v`): results, or one line and the right exit status."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from memory_limits import make_inputs, try_limit

from stepreel.cli.terminal import is_lack_of_memory

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="ulimit -v is not enforced elsewhere"
)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memory")
    make_inputs(folder)
    return folder


# Before limits were checked, info crashed at 400 and 1000 MB, run at 400, evaluate at 600; a video
# gave a traceback at 1700 and did not end at 2000.
@pytest.mark.parametrize(
    ("command", "megabytes"),
    [
        *[("help", limit) for limit in (300, 4000)],
        *[("info", limit) for limit in (400, 1000, 1300)],
        *[("score", limit) for limit in (300, 500, 1000)],
        *[("features", limit) for limit in (400, 800, 1500, 2000)],
        *[("video", limit) for limit in (400, 1450, 1700, 2000)],
        *[("untrained", limit) for limit in (1450, 2000)],
        *[("evaluate", limit) for limit in (600, 1450, 2000)],
    ],
)
def test_a_limit_of_memory_gives_results_or_one_line(inputs, command, megabytes):
    assert try_limit(inputs, command, megabytes) == ""


def test_a_sufficient_limit_is_not_refused(inputs):
    assert try_limit(inputs, "features", 2500) == ""
    assert (inputs / "features-2500" / "a" / "storyboard.html").exists()


def test_lack_of_memory_is_recognised_below_another_error():
    problem = RuntimeError("the network could not be exported")
    assert not is_lack_of_memory(problem)
    problem.__cause__ = MemoryError()
    assert is_lack_of_memory(problem)
