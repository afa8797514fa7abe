"""Impact laws side by side, in Python and on the command line."""

import json

import pytest

from saltus import robots
from saltus.errors import InputError
from saltus.studies import compare_laws, law_of


def test_laws_that_are_the_same_here_give_the_same_jump():
    hopper = robots.hopper()
    laws = ("plastic", "newton:restitution=0", "chatterjee", "newton:restitution=0.5", "chatterjee:normal=0.5")
    runs = compare_laws(hopper, laws=laws, controller=hopper.profiles["paper"].controller)
    assert list(runs) == ["its own", *laws]
    found = {name: run.figures["jump_distance"] for name, run in runs.items()}
    for name in laws[:3]:
        assert found[name] == pytest.approx(0.125418416157, abs=1e-10)
    for name in laws[3:]:
        assert abs(found[name] - found["its own"]) > 1e-4
        speeds = next(e for e in runs[name].events if e.guard == "P.touch")
        assert speeds.state_after["dy"] == pytest.approx(-0.5 * speeds.state_before["dy"], rel=1e-9)


def test_the_command(call, tmp_path):
    code, out, _ = call("laws", "hopper", "--profile", "paper", "--law", "plastic", "--out", "pictures", "--json")
    content = json.loads(out)
    assert code == 0
    assert list(content) == ["its own", "plastic"]
    assert content["plastic"]["impact_loss"] == pytest.approx(0.0909237, abs=1e-6)
    assert (tmp_path / "pictures" / "hopper-laws.png").stat().st_size > 10_000
    code, out, _ = call("laws", "hopper", "--profile", "paper")
    assert code == 0
    assert all(word in out for word in ("its own", "plastic", "newton", "chatterjee", "0.1254184"))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("laws", "hopper", "--law", "rubber"), "rubber"),
        (("laws", "hopper", "--law", "newton:restitution=high"), "newton:restitution=0.3"),
        (("laws", "hopper", "--law", "newton:restitution=2"), "2"),
        (("run", "hopper", "--law", "newton:bounce=1"), "restitution"),
        (("laws", "pendulum"), "no contacts that take an impact law"),
    ],
)
def test_bad_laws_are_refused(call, words, says):
    code, _, err = call(*words)
    assert code == 2
    assert says in err


def test_a_law_is_told_with_its_coefficients():
    assert law_of("newton:restitution=0.25").coefficients == (0.25,)
    with pytest.raises(InputError, match="restitution"):
        law_of("newton:=1")
