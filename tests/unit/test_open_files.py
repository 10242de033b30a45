"""Too few open files are said in a sentence; where the limit may be raised it is."""

import resource

import pytest

from actors import open_files


@pytest.mark.parametrize(
    ("limits", "raised_to", "sentence"),
    [
        ((256, resource.RLIM_INFINITY), 1_024, False),
        ((256, 512), 512, False),
        ((1_024, 4_096), None, False),
        ((resource.RLIM_INFINITY, resource.RLIM_INFINITY), None, False),
        ((40, 4_096), 1_024, False),
        ((40, 40), None, True),
        ((12, 40), 40, True),
    ],
)
def test_the_limit(
    limits: tuple[int, int], raised_to: int | None, sentence: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Raised as far as it takes and is allowed, never lowered."""
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda kind, both: given.append(both))
    said = open_files.provide()
    assert (said is not None) is sentence
    assert given == ([] if raised_to is None else [(raised_to, limits[1])])
    if said is not None:
        assert said.startswith("Only 40 files may be open at once here")
