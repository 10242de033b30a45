"""What every chaos test gets."""

from tests.cluster.conftest import cluster

__all__ = ["cluster"]
