"""The demonstration: run every robot once, audit it, and write what came of it to out/."""

from __future__ import annotations

from pathlib import Path

import saltus
from saltus.robots import find_robot, robot_names


def main() -> None:
    folder = Path("out")
    folder.mkdir(exist_ok=True)
    written = []
    for name in robot_names():
        robot = find_robot(name)
        profile = next(iter(robot.profiles.values()), None)
        run = saltus.simulate(robot, controller=profile.controller if profile else None)
        audit = run.check()
        print(f"{name}: {run.status.meaning} at t = {run.end_time:.6g} s, {len(run.events)} events, {run.steps} steps")
        for event in run.events[:6]:
            print(f"    {event.t:12.9f} s  {event.guard:<12} {event.mode_before} -> {event.mode_after}")
        if len(run.events) > 6:
            print(f"    and {len(run.events) - 6} more")
        for figure, value in run.figures.items():
            print(f"    {figure} = {value:.9g}")
        print(
            f"    audit {'closed' if audit.ok else 'FAILED'}: energy balance to {audit['energy balance'].value:.1e} J"
        )
        written.append(run.save(folder / f"{name}.nc"))
    print("wrote")
    for path in written:
        print(f"    {path}")


if __name__ == "__main__":
    main()
