"""Impact laws: found by name among the files of `saltus.contact.laws`, given coefficients, knowing no robot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any

import casadi as ca

from saltus import registry
from saltus._finite import as_float
from saltus.errors import InputError, SaltusError, unknown_name

MOST_COEFFICIENTS = 7


@dataclass(frozen=True)
class Coefficient:
    """A number that a law needs, with the values it may take."""

    name: str
    default: float
    lower: float = 0.0
    upper: float = 1.0


@dataclass(frozen=True)
class Law:
    """An impact law with its coefficients, numbers or expressions of the parameters.

    ``impulse`` is written in the compiled subset of Python: see `saltus.contact.laws`.
    """

    name: str
    impulse: Callable[..., Any]
    declared: tuple[Coefficient, ...]
    coefficients: tuple[Any, ...]
    impulse_in_space: Callable[..., Any] | None = None

    @property
    def values(self) -> dict[str, Any]:
        """The coefficients by name."""
        return {c.name: value for c, value in zip(self.declared, self.coefficients, strict=True)}

    def __str__(self) -> str:
        words = ",".join(f"{name}={_shown(value)}" for name, value in self.values.items())
        return f"{self.name}:{words}" if words else self.name

    def to_dict(self) -> dict[str, Any]:
        """Name and coefficients, for JSON."""
        return {"name": self.name, "coefficients": self.values}


def _shown(value: Any) -> str:
    """A coefficient in as few digits as tell it exactly, or as the expression that it is."""
    if not isinstance(value, Real):
        return str(value)
    short = f"{float(value):g}"
    return short if float(short) == float(value) else repr(float(value))


def law_names() -> list[str]:
    """Names of all impact laws."""
    return registry.names("laws")


def find_law(name: str, values: Mapping[str, Any] | None = None) -> Law:
    """The law of that name with these coefficients (defaults for the others)."""
    module = registry.load("laws", name)
    try:
        declared = tuple(Coefficient(*entry) for entry in module.COEFFICIENTS)
    except TypeError:
        raise SaltusError(
            f"COEFFICIENTS of {module.__file__} must be a tuple of (name, default, lower, upper), "
            f"got {module.COEFFICIENTS!r}"
        ) from None
    if len(declared) > MOST_COEFFICIENTS:
        raise InputError(f"law {name} has {len(declared)} coefficients; at most {MOST_COEFFICIENTS} are possible")
    values = dict(values or {})
    for key in values:
        if key not in {c.name for c in declared}:
            raise unknown_name("coefficient", key, [c.name for c in declared], f"law {name}")
    given = []
    for c in declared:
        value = values.get(c.name, c.default)
        if not isinstance(value, (Real, ca.SX)):
            raise InputError(f"coefficient {c.name!r} of law {name} must be a number or an expression, not {value!r}")
        if isinstance(value, Real) and not c.lower <= as_float(value) <= c.upper:
            raise InputError(
                f"coefficient {c.name!r} of law {name} must lie between {c.lower:g} and {c.upper:g}, not {value}"
            )
        given.append(value)
    return Law(name, module.impulse, declared, tuple(given), getattr(module, "impulse_in_space", None))


def law_of(text: str, own: Law | None = None) -> Law:
    """A law by its name and, after a colon, its coefficients: ``newton:restitution=0.3``.

    A coefficient that is not told is that of the same name of the law ``own``, if there is one; else its default.
    """
    name, _, words = text.partition(":")
    told: dict[str, Any] = {}
    for word in filter(None, words.split(",")):
        key, _, value = word.partition("=")
        try:
            told[key.strip()] = float(value)
        except ValueError:
            raise InputError(f"a law is told as newton:restitution=0.3, got {text!r}") from None
    known = {} if own is None else own.values
    names = [c.name for c in find_law(name).declared]
    return find_law(name, {key: value for key, value in known.items() if key in names} | told)


@lru_cache(maxsize=1)
def plastic() -> Law:
    """No rebound; sticks if friction allows, else slides on."""
    return find_law("plastic")


def newton(restitution: Any) -> Law:
    """Normal velocity reversed and scaled by ``restitution``; Coulomb friction along the ground."""
    return find_law("newton", {"restitution": restitution})


def chatterjee(normal: Any = 0.0, tangential: Any = 0.0) -> Law:
    """Chatterjee and Ruina's law with its two restitutions."""
    return find_law("chatterjee", {"normal": normal, "tangential": tangential})
