"""Impact laws side by side, in Python and on the command line."""

import json

import pytest

from saltus import robots
from saltus.contact import newton
from saltus.errors import InputError
from saltus.studies import compare_laws, law_of, laws_in_words


def test_laws_that_are_the_same_here_give_the_same_jump():
    hopper = robots.hopper()
    own = "chatterjee:normal=0,tangential=0"
    laws = ("plastic", "newton:restitution=0", own, "newton:restitution=0.5", "chatterjee:normal=0.5,tangential=0")
    runs = compare_laws(hopper, laws=laws, controller=hopper.profiles["paper"].controller)
    assert list(runs) == [f"own {own}", *laws]
    found = {name: run.figures["jump_distance"] for name, run in runs.items()}
    for name in laws[:3]:
        assert found[name] == pytest.approx(0.125418416157, abs=1e-10)
    for name in laws[3:]:
        assert abs(found[name] - found[f"own {own}"]) > 1e-4
        speeds = next(e for e in runs[name].events if e.guard == "P.touch")
        assert speeds.state_after["dy"] == pytest.approx(-0.5 * speeds.state_before["dy"], rel=1e-9)


def test_the_command(call, tmp_path):
    code, out, _ = call("laws", "hopper", "--profile", "paper", "--law", "plastic", "--out", "pictures", "--json")
    content = json.loads(out)
    assert code == 0
    assert list(content) == ["own chatterjee:normal=0,tangential=0", "plastic"]
    assert content["plastic"]["laws"] == {"P": {"name": "plastic", "coefficients": {}}}
    assert content["plastic"]["impact_loss"] == pytest.approx(0.0909237, abs=1e-6)
    assert (tmp_path / "pictures" / "hopper-laws.png").stat().st_size > 10_000
    code, out, _ = call("laws", "hopper", "--profile", "paper")
    assert code == 0
    assert all(word in out for word in ("own chatterjee", "plastic", "newton:restitution=0.5", "0.1254184"))


def test_what_is_not_told_of_a_law_is_as_in_the_robots_own(call):
    _, out, _ = call("laws", "hopper", "--profile", "paper", "--set", "e_n=0.5", "--set", "e_t=-0.25", "--json")
    content = json.loads(out)
    same = "chatterjee:normal=0.5,tangential=-0.25"
    assert list(content) == [f"own {same}", same, "newton:restitution=0.5", "plastic"]
    assert content[same]["laws"]["P"]["coefficients"] == {"normal": 0.5, "tangential": -0.25}
    assert content[same]["jump_distance"] == content[f"own {same}"]["jump_distance"]
    runs = compare_laws(
        robots.bouncing_ball(), laws=["newton", "newton:restitution=0.1"], parameters={"restitution": 0.3}
    )
    assert list(runs) == ["own newton:restitution=0.3", "newton:restitution=0.3", "newton:restitution=0.1"]
    for name, run in runs.items():
        event = run.events[0]
        assert event.state_after["dy"] == pytest.approx(-float(name[-3:]) * event.state_before["dy"], rel=1e-9)


def test_a_law_that_cannot_act_spoils_no_other(call, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "sour.py").write_text('"""Few numbers."""\nCOEFFICIENTS = ()\ndef impulse(A):\n    0\n')
    words = ("laws", "bouncing_ball", "--until", "0.5", "--json")
    code, out, _ = call("--plugins", "more", *words)
    content = json.loads(out)
    assert code == 0
    assert content["sour"]["status"] == "not_started"
    assert "cannot compile 'law-sour'" in content["sour"]["reason"]
    del content["sour"]
    (tmp_path / "more" / "sour.py").unlink()
    assert content == json.loads(call(*words)[1])
    code, out, _ = call(*words[:-1], "--law", "newton:restitution=5", "--law", "plastic")
    assert code == 0
    assert "newton:restitution=5 has no run: coefficient 'restitution' of law newton must lie between 0 and 1" in out


def test_where_no_law_can_act_it_is_an_error_before_any_run(monkeypatch):
    monkeypatch.setattr("saltus.studies._laws.simulate", None)
    ball = robots.bouncing_ball()
    with pytest.raises(InputError, match=r"^coefficient 'restitution' of law newton"):
        compare_laws(ball, laws=["newton:restitution=5"])
    with pytest.raises(InputError, match=r"none of 2 laws can act; 2: coefficient 'restitution' .* not"):
        compare_laws(ball, laws=["newton:restitution=5", "newton:restitution=7"])
    with pytest.raises(InputError, match="unknown impact law: 'newtn'"):  # a mistake of the caller, not of the law
        compare_laws(ball, laws=["plastic", "newtn"])


def test_units_keep_coefficients_of_their_own():
    rod = robots.rod().with_law("newton:restitution=0.25", "A").with_law("newton:restitution=0.75", "B")
    assert {unit: str(law) for unit, law in rod.with_law("newton").laws.items()} == {
        "A": "newton:restitution=0.25",
        "B": "newton:restitution=0.75",
    }
    assert laws_in_words(rod) == "A newton:restitution=0.25 B newton:restitution=0.75"
    assert laws_in_words(robots.pendulum()) == ""


def test_a_run_tells_its_law(call):
    words = ("run", "hopper", "--profile", "paper", "--set", "e_n=0.5")
    for law, told in (((), "chatterjee:normal=0.5,tangential=0"), (("--law", "newton"), "newton:restitution=0.5")):
        assert f"impact law {told}\n" in call(*words, *law)[1]
    content = json.loads(call(*words, "--law", "newton", "--json")[1])
    assert content["laws"] == {"P": {"name": "newton", "coefficients": {"restitution": 0.5}}}
    assert "impact law" not in call("run", "pendulum", "--until", "0.1")[1]


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
    third = str(newton(1 / 3))
    assert law_of(third).coefficients == (1 / 3,)
    assert law_of("chatterjee", newton(0.5)).coefficients == (0.0, 0.0)
    with pytest.raises(InputError, match="restitution"):
        law_of("newton:=1")
