"""What every cluster test gets."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cluster import Cluster, running_cluster, show


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Instances on a home of their own, with the practice chat; nothing of it outlives the test."""
    with running_cluster(tmp_path) as running:
        yield running
        # Captured, and shown only when the test fails.
        show(running)
