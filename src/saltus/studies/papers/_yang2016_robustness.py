"""How sure the energy controller of [yang2016, 7.4.9] is: swings, swing-ups and ladders under random mixes."""

from __future__ import annotations

from dataclasses import dataclass

from saltus.show import bars_figure
from saltus.studies import Correction, Drawing, Number, SwingMixes, SwingSetting, SwingTrials, try_settings
from saltus.studies.papers._yang2016_chapter import FINE, Chapter, Progress, reached

# Mixes of each setting, and ladders among them.
MIXES, LADDERS = 100, 25

# With little detail some settings under few mixes, and no ladders, which take long.
FEW, SOME = 4, (SwingSetting("swing"), SwingSetting("swing-up", "heavy", "momentum", "curve"))

# Of these mixes none was used to choose a gain.
SEED = 2016

# Asked of every setting of a task: the share that is caught, with the ideal motor and with its curve.
ASKED = {"ideal": 0.96, "curve": 0.92}


@dataclass(frozen=True)
class Found:
    """What became of every setting, by its name."""

    trials: dict[str, SwingTrials]


def find(detail: int, progress: Progress) -> Found:
    """Compute everything; more mixes with more ``detail``."""
    settings, count = (None, MIXES) if detail >= FINE else (SOME, FEW)
    mixes = SwingMixes(count=count, seed=SEED).held_out()
    tell = lambda k, of, name: progress(name, k / of)  # noqa: E731
    return Found(try_settings("brachiator", settings, mixes, ladders=LADDERS, progress=tell))


def numbers(found: Found) -> tuple[Number, ...]:
    made = []
    for name, one in found.trials.items():
        share, low, high = one.interval
        time = one.quantiles("time")
        made.append(
            Number(
                "7.4.9", f"{name}: caught in time, of {one.count}", "able to, with torques of ±10 % and friction",
                100 * share, reached(share >= ASKED[one.about["motor"]]), unit="%",
                note=f"95 % interval {100 * low:.1f} to {100 * high:.1f} %; median time {time['0.5']:.2f} s. Torque, "
                "friction, mass, bars, incline and sensor noise at random",
            )
        )  # fmt: skip
    return tuple(made)


def corrections(found: Found) -> tuple[Correction, ...]:
    return ()


def drawings(found: Found) -> tuple[Drawing, ...]:
    shares = {name: one.interval for name, one in found.trials.items()}
    least = min(one.share for one in found.trials.values())
    figure = bars_figure(shares, what="share of runs", percent=True, title="Caught the last bar in time")
    return (
        Drawing(
            "robustness", figure,
            "How often the energy controller catches the last bar in time under random mixes, with 95 % intervals, by "
            "task, centres of mass, law and motor.", reached(least >= min(ASKED.values())),
        ),
    )  # fmt: skip


CHAPTER = Chapter("7.4.9, robustness", find, numbers, corrections, drawings, share=1.5)
