"""Mutants are small, different from what was there, drawn by their seed, and counted rightly."""

from __future__ import annotations

import ast
import json

import mutants
import pytest

SOURCE = '''
"""Words."""
from typing import Any
LIMIT: int = 3
def f(x: Any, y=0.5) -> int:
    """Words of 7."""
    if x < LIMIT and not y:
        x += 1
        g(x)
    return -x + 2 * y, f"{x + 1}"
'''


def test_every_mutant_is_different_code_and_touches_no_words():
    changed = [(ast.unparse(node), new) for node, new in mutants.changes(ast.parse(SOURCE))]
    assert ("x < LIMIT", "(x <= LIMIT)") in changed
    assert ("x < LIMIT", "(x >= LIMIT)") in changed
    assert ("x < LIMIT and (not y)", "(x < LIMIT or not y)") in changed
    assert ("x += 1", "x -= 1") in changed
    assert ("x += 1", "pass") in changed
    assert ("g(x)", "pass") in changed
    assert ("3", "4") in changed
    assert ("0.5", "1.0") in changed
    assert all(ast.dump(ast.parse(old)) != ast.dump(ast.parse(new)) for old, new in changed)
    assert not [old for old, _ in changed if "Words" in old or old in ("x + 1", "Any", "int")]


@pytest.mark.parametrize("room", ["audit", "cache", "tables"])
def test_every_room_has_files_tests_and_mutants_that_are_python(room):
    assert mutants.files_of(room)
    assert all((mutants.ROOT / name.partition("::")[0]).exists() for name in mutants.ROOMS[room][1])
    found = mutants.mutants_of(room)
    assert len(found) > 50
    for one in found[:: len(found) // 10]:
        text = (mutants.SOURCE / one.file).read_bytes()
        assert text[one.begin : one.end].decode() == one.old
        after = text[: one.begin] + one.new.encode() + text[one.end :]
        assert not mutants._same_code(text, after)


def test_a_sample_is_that_of_its_seed_and_goes_round_the_rooms():
    rooms = ["audit", "cache"]
    drawn = mutants.sample(rooms, 20, 4)
    assert [one.room for one in drawn] == rooms * 10
    assert mutants.sample(rooms, 10, 4) == drawn[:10]
    assert mutants.sample(rooms, 20, 5) != drawn


def test_results_are_resumed_and_argued_survivors_do_not_count(tmp_path, monkeypatch, capsys):
    base = {"room": "audit", "file": "a.py", "line": 1, "old": "1"}
    results = [base | {"name": name, "new": new, "end": end} for name, new, end in
               [("a", "2", "killed"), ("b", "3", "survived"), ("c", "4", "survived"), ("d", "5", "late")]]  # fmt: skip
    path = tmp_path / "results.jsonl"
    path.write_text("\n".join(map(json.dumps, results)) + '\n{"name": "cut')
    assert list(mutants.known(path)) == ["a", "b", "c", "d"]
    argued = {"file": "a.py", "source": "x = 1", "old": "1", "new": "3", "why": "because"}
    (tmp_path / "equivalent.json").write_text(json.dumps([argued]))
    (tmp_path / "a.py").write_text("x = 1\n")
    monkeypatch.setattr(mutants, "EQUIVALENT", tmp_path / "equivalent.json")
    monkeypatch.setattr(mutants, "SOURCE", tmp_path)
    assert [one["name"] for one in mutants.report(results)] == ["c"]
    assert "1 of 2 caught, 50 %" in capsys.readouterr().out


def test_each_argued_mutant_has_a_reason_and_a_place():
    for entry in json.loads((mutants.ROOT / "tests" / "mutants_equivalent.json").read_text()):
        assert set(entry) == {"file", "source", "old", "new", "why"}
        assert entry["old"] in entry["source"]
        assert (mutants.SOURCE / entry["file"]).exists()
        assert len(entry["why"]) > 20
