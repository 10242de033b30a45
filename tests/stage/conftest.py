"""The stage of each test; what nobody expected on it fails the test at its end."""

import pytest

from tests.support.stage import Stage


@pytest.fixture
def stage():
    with Stage() as played:
        yield played
