from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def shared_network_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Keep the user's own cache out of the tests; export the network once per test process."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STEPREEL_CACHE", str(folder))
        yield folder
