"""Everything registered, held to every check of its kind."""

import pytest

from saltus import registry
from saltus.conformance import checks

CASES = [
    pytest.param(name, check, id=f"{kind}-{name}-{check.__name__}")
    for kind in registry.KINDS
    for name in registry.names(kind)
    for check in checks(kind)
]


@pytest.mark.parametrize(("name", "check"), CASES)
def test_conformance(name, check):
    check(name)


@pytest.mark.parametrize("kind", registry.KINDS)
def test_every_check_says_what_it_is_for(kind):
    assert checks(kind)
    for check in checks(kind):
        assert check.__doc__
