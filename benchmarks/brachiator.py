"""A thousand swings of the brachiator under the energy controller, with all events, in one batch.

``python benchmarks/brachiator.py [--swings 1000] [--turns 5]`` prints how long they take, the best of several turns,
with an exact state and through sensors. How many of them, of swing-ups and of ladders end well in all settings is
what ``saltus robustness brachiator --all`` tells.
"""

from __future__ import annotations

import argparse
import time

from saltus.studies import SwingMixes, try_swings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--swings", type=int, default=1000)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seed", type=int, default=987654)
    chosen = parser.parse_args()
    mixes = SwingMixes(count=chosen.swings, seed=chosen.seed)
    for under in (mixes.without_sensors(), mixes):
        times = []
        for _ in range(chosen.turns):
            begin = time.perf_counter()
            made = try_swings("brachiator", "swing", mixes=under)
            times.append(time.perf_counter() - begin)
        batch, what = made.batch, "sensors" if under.sensors else "exact state"
        print(
            f"{chosen.swings} swings, {what:12} {min(times):7.2f} s, best of {chosen.turns}; {made.good} caught, "
            f"{batch.t_end.mean():.3f} s each, {batch.event_count.mean():.1f} events, {batch.steps.mean():.0f} steps"
        )


if __name__ == "__main__":
    main()
