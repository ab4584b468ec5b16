from __future__ import annotations

import os
from pathlib import Path

import pytest

# There are as many test processes as cores: more threads in each of them only wait for one another.
# Set before anything that reads it is loaded; commands that tests start inherit it.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session", autouse=True)
def shared_network_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep the user's own cache out of the tests; export the network once per test process."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEPREEL_CACHE", str(folder))
        yield folder
