"""What was seen of the robot of [yang2016, 8], each with its verdict."""

from __future__ import annotations

import math

from saltus.show import wilson_interval
from saltus.studies import Correction, Number, Swing
from saltus.studies.papers._yang2016_chapter import NOT_PRINTED, near, reached, stands
from saltus.studies.papers._yang2016_energy_found import KINDS
from saltus.studies.papers._yang2016_energy_numbers import caught
from saltus.studies.papers._yang2016_runs import BUFFER
from saltus.studies.papers._yang2016_testing_found import (
    BUFFERS,
    CONDITIONS,
    DELAYS,
    FELL,
    FIRST,
    NOISES,
    REDUCTION,
    SINGLE,
    Found,
)

# A catch with more kinetic energy left than this is by chance, J: the hand passes the bar too fast.
OVERSHOT = 2.0


def overshoots(swing: Swing | None) -> bool:
    """Whether a swing-up does not end in a catch, or in one of a hand that is much too fast."""
    return swing is None or not swing.caught or (swing.residual or 0.0) > OVERSHOT


def steepest(found: Found, kind: str, condition: str) -> float:
    """The steepest incline that is gone in one forward swing, degrees."""
    ends = found.inclines.items()
    return max((at for (one, case, at), end in ends if (one, case, end) == (kind, condition, SINGLE)), default=math.nan)


def numbers(found: Found) -> tuple[Number, ...]:
    return (*_of_swing_up(found), *_of_release(found), *_of_incline(found), *_of_noise(found))


def _of_swing_up(found: Found) -> list[Number]:
    plain, hysteresis, bootstrap = (found.reversals[name] for name in ("plain", "hysteresis", "bootstrap"))
    without, with_it = found.reduced[0.0], found.reduced[REDUCTION]
    return [
        Number(
            "8.2", f"reversals of the torque in the first {FIRST:g} s of a swing-up, noisy sensors", "chatters", plain,
            reached(plain > 10), note=f"with hysteresis {hysteresis}, with 3 N m for 0.8 s {bootstrap}",
        ),
        Number(
            "8.2", "bootstrap of 3 N m for 0.8 s: reversals then", "none", bootstrap, reached(bootstrap == 0),
        ),
        Number(
            "8.2", "robot 15 % heavier than believed: swing-up within 15 s, aim not reduced", "not caught: overshoots",
            _outcome(without), reached(overshoots(without)),
            note=f"the thesis' own controller, buffer {BUFFER:g} J",
        ),
        Number(
            "8.2", "the same with the aim reduced by 25 %", "caught", _outcome(with_it), reached(caught(with_it)),
            note="one run of many swings, in which a catch is partly chance; caught with "
            + (", ".join(f"{share:.0%}" for share, swing in found.reduced.items() if caught(swing)) or "none")
            + f" of {', '.join(f'{share:.0%}' for share in found.reduced)}; ours, with nothing taken off: "
            + _outcome(found.ahead),
        ),
    ]  # fmt: skip


def _outcome(swing: Swing | None) -> str:
    if swing is None or not swing.caught:
        return "not caught"
    return f"caught after {swing.time:.2f} s, {swing.residual:.2f} J"


def _of_release(found: Found) -> list[Number]:
    first, last = found.released[DELAYS[0]], found.released[DELAYS[-1]]
    residuals = _residuals(found)
    spread = max(residuals) - min(residuals) if len(residuals) == len(DELAYS) else math.inf
    return [
        Number(
            "8.3", "time until the claw is open", "200 to 300 ms", 1e3 * first.opened,
            reached(0.2 <= first.opened <= 0.301), unit="ms", note="drawn between both for each release",
        ),
        Number(
            "8.3", "torque without a delay: pull at a bar before the claw is open", NOT_PRINTED, first.force,
            "corrected", unit="N",
            note=f"{last.force:.1f} N with 400 ms; the torque does {first.work:.1g} J of work until then",
        ),
        Number(
            "8.3", "delays that torque needs so that it waits for the claw", "400 ms",
            ", ".join(f"{1e3 * delay:.0f}" for delay, one in found.released.items() if delay >= one.opened) + " ms",
            reached(last.opened <= DELAYS[-1]),
            note=f"of {', '.join(f'{1e3 * delay:.0f}' for delay in DELAYS)} ms; the longest opening takes 300 ms",
        ),
        Number(
            "8.3", "change of the residual by the delay, a controller that sees whether the hand is open", "needs it",
            spread, stands(spread > 0.1), unit="J", note=f"delays of {DELAYS[0]:g} to {DELAYS[-1]:g} s: none is needed",
        ),
    ]  # fmt: skip


def _residuals(found: Found) -> list[float]:
    """Kinetic energy left in those swings that were caught, by delay, J."""
    return [swing.residual for swing in found.delayed.values() if swing is not None and swing.residual is not None]


def _share(found: Found, condition: str) -> str:
    """How many of the inclines up to 10 degrees the thesis' own goes in one forward swing."""
    cases = found.inclines.items()
    ends = [end for (kind, case, at), end in cases if (kind, case) == ("thesis", condition) and at <= 10.0]
    return f"{ends.count(SINGLE)} of {len(ends)}"


def _of_incline(found: Found) -> list[Number]:
    made = []
    for condition in CONDITIONS:
        own, ours = (steepest(found, kind, condition) for kind in ("thesis", "ours"))
        droop = condition != CONDITIONS[0]
        falls = [f"{at:g}" for (one, case, at), end in found.inclines.items()
                 if (one, case, end) == ("ours", condition, FELL)]  # fmt: skip
        made += [
            Number(
                "8.4", f"steepest incline in one forward swing, the thesis' own, {condition}",
                "roughly 10 degrees" if droop else NOT_PRINTED, own, reached(near(own, 10.0)) if droop else "corrected",
                unit="degrees", note=f"best of buffers of {', '.join(f'{b:g}' for b in BUFFERS)} J, 0.55 m; "
                f"{_share(found, condition)} inclines up to 10 degrees succeed",
            ),
            Number(
                "8.4", f"the same, ours, {condition}", "roughly 10 degrees" if droop else NOT_PRINTED, ours,
                stands(near(ours, 10.0)) if droop else "corrected", unit="degrees",
                note="real claws; steeper bars need a back-swing, which comes by itself"
                + (f"; the hand that droops slips off its bar at {', '.join(falls)} degrees" if falls else ""),
            ),
        ]  # fmt: skip
    return made


def _of_noise(found: Found) -> list[Number]:
    made = [
        Number(
            "8.5", f"time within reach of the bar, {KINDS[kind]}", "200 ms",
            1e3 * window, reached(near(1e3 * window, 200.0)), unit="ms",
            note="at the first pass, if the hand does not close and nothing bounces" if kind == "ours" else
            "more energy is left, and the window is shorter",
        )
        for kind, window in found.windows.items()
    ]  # fmt: skip
    for observer in (False, True):
        rates = [rate_of(found, noise, observer) for noise in NOISES]
        made.append(
            Number(
                "8.5", "catches by noise of the angle, " + ("state estimated" if observer else "sensors as they are"),
                "some fail" if not observer else NOT_PRINTED,
                "; ".join(f"{noise:g}°: {rate:.0%}" for noise, (rate, _, _) in zip(NOISES, rates, strict=True)),
                reached(min(rate for rate, _, _ in rates[1:]) < 1.0) if not observer else "corrected",
                note=f"of {found.noisy[0.0, observer][1]} each, real claws; rate five times the angle's per second; "
                f"95 % interval at 1°: {rates[2][1]:.0%} to {rates[2][2]:.0%}",
            )
        )  # fmt: skip
    return made


def rate_of(found: Found, noise: float, observer: bool) -> tuple[float, float, float]:
    good, count = found.noisy[noise, observer]
    return wilson_interval(good, count)


def corrections(found: Found) -> tuple[Correction, ...]:
    first = found.released[DELAYS[0]]
    residuals = _residuals(found)
    return (
        Correction(
            "8.3, delay", "400 ms from the release until torque", "wait until the hand is seen to be open",
            f"without it the motor pulls at the bars with {first.force:.0f} N, to no effect",
            f"{len(residuals)} of {len(DELAYS)} swings caught, by any delay, with "
            f"{min(residuals, default=math.nan):.3f} to {max(residuals, default=math.nan):.3f} J left",
            stands(len(residuals) < len(DELAYS)),
        ),
    )  # fmt: skip
