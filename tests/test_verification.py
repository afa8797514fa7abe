"""The verification finds what it looks for: copies that are none, motions that are not those of their mode."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from saltus.engine import _layout as L

FOLDER = Path(__file__).resolve().parents[1] / "verification"


@pytest.fixture(scope="module")
def suite():
    """The modules of the suite, which are scripts side by side."""
    sys.path.insert(0, str(FOLDER))
    try:
        import copies
        import ledger
        import modes
        import run
        import runs

        yield {"copies": copies, "ledger": ledger, "modes": modes, "run": run, "runs": runs}
    finally:
        sys.path.remove(str(FOLDER))
        for name in ("copies", "ledger", "modes", "plain", "run", "runs", "generated"):
            sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["block", "pendulum", "rod"])
def test_copies_agree_and_falsified_ones_do_not(suite, name):
    copies = suite["copies"]
    runs = suite["runs"].drawn(name, 30, 3, 0)
    batch = runs.make()
    found = {change.name: change for change in copies.changes(name, 3, 0)}
    assert {"re-scaled", "shifted"} <= set(found)
    for change in found.values():
        other = change.of(runs).make()
        suspects = np.flatnonzero(~copies.alike(batch, other, change)).tolist()
        assert not [k for k in suspects if copies.judge(batch, other, change, k)[0] == "disagree"]
    scaled = found["re-scaled"]
    wrong = dataclasses.replace(scaled, factors=scaled.factors | {"g": scaled.factors["g"] * 1.0001})
    other = wrong.of(runs).make()
    suspects = np.flatnonzero(~copies.alike(batch, other, wrong)).tolist()
    ends = Counter(copies.judge(batch, other, wrong, k)[0] for k in suspects)
    assert ends["disagree"] >= 10
    assert copies.covariant(runs.system, scaled, np.random.default_rng(1))
    assert not copies.covariant(runs.system, wrong, np.random.default_rng(1))


def test_runs_agree_with_scipy_and_falsified_ones_do_not(suite):
    modes, runs = suite["modes"], suite["runs"].drawn("block", 6, 5, 0, sampled=False)
    batch = runs.make()
    looked = Counter()
    for k in range(batch.n):
        found, counts = modes.compare(batch, k, runs.pushes[k])
        assert found == []
        looked += counts
    assert looked["arcs"] >= 5
    assert looked["events"] >= 1
    k = next(k for k in range(batch.n) if modes.compare(batch, k, runs.pushes[k])[1]["arcs"])
    heavier = dataclasses.replace(runs, parameters=runs.parameters | {"g": runs.parameters["g"] * 1.001})
    run = heavier.make().run(k)
    forged = dataclasses.replace(run, system=batch.run(k).system)

    class Forged:
        begun = batch.begun

        def run(self, k):
            return forged

    assert modes.compare(Forged(), k, runs.pushes[k])[0]


def test_runs_whose_inputs_are_cut_agree_with_scipy_too(suite):
    modes, runs = suite["modes"], suite["runs"].drawn("pendulum", 20, 6, 0, sampled=False)
    batch = runs.make()
    cut = np.flatnonzero(batch.saturated).tolist()
    assert cut
    for k in cut:
        found, counts = modes.compare(batch, k, runs.pushes[k])
        assert found == []
        assert counts["arcs"] == 1


def test_where_bouncing_ends_impulses_push_in_their_cones(suite):
    """What still moves then is stopped without an impulse, and only there may momentum be missing."""
    modes, runs = suite["modes"], suite["runs"].drawn("machine10", 10, 7, 1, sampled=False)
    batch = runs.make()
    run = batch.run(4)
    ends = [arc for arc, row in enumerate(run.event_rows) if row[L.E_CLOSED]]
    assert ends
    event = run.events[ends[-1]]
    before, after = (np.array(list(part.values())) for part in (event.state_before, event.state_after))
    assert modes.reset(run, event, before, after, ends[-1], 1.0) == []
    assert modes.reset(run, event, before, after, ends[-1] - 1, 1.0)
    wrong = dict.fromkeys(event.impulse, 0.0) | {"foot1.n": -1e-7, "foot1.t": 1e-9}
    assert modes.reset(run, dataclasses.replace(event, impulse=wrong), before, after, ends[-1], 1.0)


def test_a_run_that_no_law_lets_go_on_has_no_impulse_on_record(suite):
    modes, runs = suite["modes"], suite["runs"].drawn("machine16", 20, 23, 3, sampled=False)
    batch = runs.make()
    run = batch.run(9)
    assert run.status.name == "no_impulse"
    last = run.events[-1]
    assert set(last.impulse.values()) == {0.0}
    assert last.state_after == pytest.approx(last.state_before, abs=1e-14)
    assert modes.compare(batch, 9, runs.pushes[9])[0] == []


def test_an_interrupted_verification_goes_on(suite, tmp_path):
    ledger = suite["ledger"]
    chunks = [ledger.Chunk("plain", "rod", 1, number, 2) for number in range(3)]
    done = []

    def do(chunk):
        done.append(chunk.number)
        if chunk.number == 1 and len(done) == 2:
            raise KeyboardInterrupt
        return ledger.Outcome(Counter(runs=2), [f"{chunk.name}, seed 1, run 0: wrong"])

    path = tmp_path / "plain.jsonl"
    with pytest.raises(KeyboardInterrupt):
        ledger.Ledger(path).work(chunks, do, np.inf)
    path.write_text(path.read_text() + '{"version": "cut')
    total, left = ledger.Ledger(path).work(chunks, do, np.inf)
    assert done == [0, 1, 1, 2]
    assert (total.counts["runs"], len(total.disagreed), left) == (6, 3, 0)
    total, left = ledger.Ledger(tmp_path / "other.jsonl").work(chunks, do, -np.inf)
    assert (total.counts["runs"], left) == (0, 3)


def test_what_is_known_is_set_aside_with_the_reason(suite, tmp_path, monkeypatch):
    run, outcome = suite["run"], suite["ledger"].Outcome
    (tmp_path / "known.json").write_text(json.dumps([{"run": "plain:rod:0, seed 1, run 7", "why": "a reason"}]))
    monkeypatch.setattr(run, "KNOWN", tmp_path / "known.json")
    made = run.without_known(
        outcome(Counter(), ["plain:rod:0, seed 1, run 7: wrong", "plain:rod:0, seed 1, run 70: wrong"])
    )
    assert made.disagreed == ["plain:rod:0, seed 1, run 70: wrong"]
    assert made.listed == ["plain:rod:0, seed 1, run 7: wrong (known: a reason)"]
    for entry in json.loads((FOLDER / "known.json").read_text()):
        assert set(entry) == {"run", "why"}
