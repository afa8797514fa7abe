"""How a run can end: every status has a number in compiled code, a name and a meaning."""

from __future__ import annotations

from dataclasses import dataclass

(
    RUNNING,
    FINISHED,
    TERMINAL,
    PAUSED,
    STEPS_FULL,
    EVENTS_FULL,
    NO_MODE,
    TWO_MODES,
    NO_IMPULSE,
    COLLAPSE,
    NOT_FINITE,
    SINGULAR,
    REDUNDANT,
    CONTROLLER_FAILED,
    CONTROLLER_NOT_FINITE,
    STEP_LIMIT,
    EVENT_LIMIT,
    STALLED,
    INTERRUPTED,
    NOT_STARTED,
) = range(20)


@dataclass(frozen=True)
class Status:
    """The name of a status and what it means."""

    code: int
    name: str
    meaning: str
    good: bool = False


STATUSES = {
    status.code: status
    for status in (
        Status(RUNNING, "running", "not ended yet"),
        Status(FINISHED, "finished", "reached the end time", good=True),
        Status(TERMINAL, "terminal", "a terminal guard was reached", good=True),
        Status(PAUSED, "paused", "stopped between steps, can go on"),
        Status(STEPS_FULL, "steps_full", "no room for another step in the record"),
        Status(EVENTS_FULL, "events_full", "no room for another event in the record"),
        Status(NO_MODE, "no_consistent_mode", "no contact mode is consistent here (Painleve)"),
        Status(TWO_MODES, "several_consistent_modes", "more than one contact mode is consistent here (Painleve)"),
        Status(NO_IMPULSE, "no_impulse", "the impact law has no solution here"),
        Status(COLLAPSE, "step_collapse", "the step size fell below the resolution of time"),
        Status(NOT_FINITE, "not_finite", "the motion is not finite here"),
        Status(SINGULAR, "singular_mass_matrix", "the mass matrix is not positive definite here"),
        Status(REDUNDANT, "redundant_contacts", "the closed contacts' forces are not unique here"),
        Status(CONTROLLER_FAILED, "controller_failed", "the controller raised an error"),
        Status(CONTROLLER_NOT_FINITE, "controller_not_finite", "the controller returned a number that is not finite"),
        Status(STEP_LIMIT, "step_limit", "the limit on the number of steps was reached"),
        Status(EVENT_LIMIT, "event_limit", "the limit on the number of events was reached"),
        Status(STALLED, "stalled", "events follow each other without time going on"),
        Status(INTERRUPTED, "interrupted", "stopped by the user"),
        Status(NOT_STARTED, "not_started", "the run could not start"),
    )
}
