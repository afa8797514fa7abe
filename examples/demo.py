"""The demonstration: run every robot once, audit it, write a report of each and a page that links them all."""

from __future__ import annotations

from pathlib import Path

import saltus
from saltus.robots import find_robot, robot_names
from saltus.show import Document, report, strobe_figure

FOLDER = Path("out")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    gallery = Document("saltus: the gallery", "Robots whose motion is smooth until something sudden happens")
    links = []
    for name in robot_names():
        run = run_once(name)
        run.save(FOLDER / f"{name}.nc")
        page = report(run, FOLDER / f"{name}.html", force=True)
        links.append((page.name, name.replace("_", " "), run.system.about, strobe_figure(run)))
    gallery.links("Robots", links)
    index = gallery.save(FOLDER / "index.html", force=True)
    print(f"wrote {len(links)} runs (.nc) and reports (.html); open the gallery: {index}")


def run_once(name: str) -> saltus.Trajectory:
    """One run of a robot, by its first ready experiment if it has one, and what came of it."""
    robot = find_robot(name)
    profile = next(iter(robot.profiles.values()), None)
    run = (
        saltus.simulate(robot, profile.start, controller=profile.controller, until=profile.until)
        if profile
        else saltus.simulate(robot)
    )
    audit = run.check()
    print(f"{name}: {run.status.meaning} at t = {run.end_time:.6g} s, {len(run.events)} events, {run.steps} steps")
    for event in run.events[:6]:
        print(f"    {event.t:12.9f} s  {event.guard:<12} {event.mode_before} -> {event.mode_after}")
    if len(run.events) > 6:
        print(f"    and {len(run.events) - 6} more")
    for figure, value in run.figures.items():
        print(f"    {figure} = {value:.9g}")
    print(f"    audit {'closed' if audit.ok else 'FAILED'}: energy balance to {audit['energy balance'].value:.1e} J")
    return run


if __name__ == "__main__":
    main()
