"""When a checkpoint is due: at least every 10 s, unless writing took over 5 % of the time."""

import pytest

from saltus import _checkpoint
from saltus._checkpoint import LONGEST, SHARE, Checkpoint
from saltus.errors import SaltusError


class Clock:
    """A time that passes when it is said to."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(_checkpoint, "time", made)
    return made


@pytest.mark.parametrize("step", [0.01, 0.3, 3.0, 9.0, 30.0])
@pytest.mark.parametrize("writing", [0.0, 0.4, 2.0, 60.0])
def test_no_more_than_ten_seconds_are_lost_nor_more_than_a_twentieth_of_the_time(clock, step, writing):
    written = []

    def save():
        clock.now += writing
        written.append(clock.now)

    checkpoint = Checkpoint(save)
    before, gaps = clock.now, []
    for _ in range(int(4000 / step) + 20):
        clock.now += step
        if checkpoint.due():
            gaps.append(clock.now - before)
            checkpoint.try_to_save()
            before = clock.now
    assert len(written) > 1
    assert gaps[0] <= max(LONGEST, step) + 1e-9
    least = (1 - SHARE) / SHARE * writing
    # the first look is a step after the beginning
    assert all(least - 1e-6 <= gap <= max(LONGEST, least + step, step) + 1e-9 for gap in gaps[1:])
    assert writing * len(gaps[1:]) <= SHARE * (clock.now - 100.0) + 1e-9


def test_a_full_disk_is_said_and_the_work_goes_on(clock):
    def fail():
        raise SaltusError("cannot write it: No space left")

    checkpoint = Checkpoint(fail)

    def seconds_until_due():
        began = clock.now
        while not checkpoint.due():
            clock.now += 0.1
        return clock.now - began

    assert seconds_until_due() <= LONGEST
    with pytest.warns(UserWarning, match="no checkpoint: cannot write it"):
        checkpoint.try_to_save()
    assert LONGEST - 0.3 < seconds_until_due() <= LONGEST
