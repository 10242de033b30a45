"""The message that shows a run: output at once, then seldom, and a question after long silence."""

from actors.plans.pace import Act, Pace


def acts_until(pace: Pace, end: int) -> list[tuple[int, Act]]:
    """What is done up to `end`, when it is woken exactly when it asks to be."""
    done, now = [], pace.output_at
    while now <= end:
        pace, acts = pace.step(now)
        done += [(now, act) for act in acts]
        now = max(now, pace.next_at())
    return done


def test_first_output_is_drawn_at_once_and_more_after_two_seconds() -> None:
    pace = Pace(output_at=1_000).on_output(1_100)
    pace, acts = pace.step(1_100)
    assert acts == (Act.DRAW,)
    pace = pace.on_output(1_200)
    pace, acts = pace.step(1_200)
    assert acts == () and pace.next_at() == 2_200  # the sign of work, if it is silent until then
    pace = pace.on_output(3_050)
    pace, acts = pace.step(3_099)
    assert acts == () and pace.next_at() == 3_100
    assert pace.step(3_100)[1] == (Act.DRAW,)


def test_output_that_does_not_change_is_not_drawn_again() -> None:
    pace, _ = Pace(output_at=0).on_output(0).step(0)
    assert Act.DRAW not in [act for _, act in acts_until(pace, 60_000)]


def test_a_silent_run_shows_that_it_works_every_four_seconds() -> None:
    assert acts_until(Pace(output_at=0), 10_000) == [
        (1_000, Act.TYPE),
        (5_000, Act.TYPE),
        (9_000, Act.TYPE),
    ]


def test_ten_silent_minutes_are_asked_about_once() -> None:
    asked = [now for now, act in acts_until(Pace(output_at=0), 1_500_000) if act is Act.ASK]
    assert asked == [600_000]


def test_output_ends_the_silence_and_a_new_one_is_asked_about_again() -> None:
    pace = Pace(output_at=0)
    for start in (0, 700_000):
        pace = pace.on_output(start)
        asked = [now for now, act in acts_until(pace, start + 650_000) if act is Act.ASK]
        assert asked == [start + 600_000]


def test_after_a_refusal_nothing_is_drawn_for_a_while() -> None:
    pace = Pace(output_at=0).on_output(0).on_refused(0)
    drawn = [now for now, act in acts_until(pace, 40_000) if act is Act.DRAW]
    assert drawn == [30_000]
