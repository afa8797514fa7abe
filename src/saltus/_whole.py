"""Things that hold expressions and are sent as a whole, so that a symbol in two places of them remains one symbol."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound=type)


def sent_whole(kind: Kind) -> Kind:
    """A class whose objects hold expressions: each is sent with all of them, in which a symbol remains one symbol.

    As a part of a larger thing of this sort it shares the symbols of that. A copy has the same symbols.
    """
    kind.__reduce__ = _reduce  # type: ignore[assignment, method-assign]
    kind.__deepcopy__ = _deepcopy  # type: ignore[attr-defined]
    kind.shares_symbols = True  # type: ignore[attr-defined]
    return kind


def _reduce(self: Any) -> tuple[Any, ...]:
    from saltus._pack import pack

    name = getattr(self, "name", "")
    return _received, (type(self), pack(vars(self), f"{type(self).__name__} {name}".strip()))


def _received(kind: type[Any], packed: Any) -> Any:
    from saltus._pack import unpack

    made = object.__new__(kind)
    made.__dict__.update(unpack(packed))
    return made


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    made = object.__new__(type(self))
    memo[id(self)] = made
    made.__dict__.update(copy.deepcopy(vars(self), memo))
    return made
