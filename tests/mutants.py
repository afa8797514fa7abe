"""Mutants: small faults put into the source, one at a time, each to be caught by the tests of its room.

    python tests/mutants.py --count 100 --seed 1 --out out/mutants.jsonl

Mutants are drawn from the files of each room in turn. A room's tests run in a copy of the tree, with a cache of machine
code of their own, at most LIMIT seconds for each mutant. Every result is a line of the file, so that a run that was
interrupted goes on where it was; ``--again`` runs survivors once more. Survivors for which no test can exist are in
`tests/mutants_equivalent.json`, each with the reason. Exits with 1 if another one survives.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "saltus"
EQUIVALENT = ROOT / "tests" / "mutants_equivalent.json"

# How long the tests of a mutant may take, and after how long without a result of any test they hang, s.
LIMIT, HANGS = 180.0, 120.0

DERIVATIVES = ("_jacobian", "_saltation", "_transition", "_variation", "_variation_flow", "_variation_inputs")

QUICK = (
    "a_file_is_of_one_key_one_processor_and_the_versions_in_use",
    "variables_that_are_set_to_nothing_are_not_set",
    "the_cache_is_where_each_system_keeps_caches",
    "a_process_that_stopped_while_it_compiles_is_not_waited_for_for_ever",
    "a_file_in_which_one_bit_is_another_is_not_used",
    "damaged_files_and_those_of_other_versions_are_replaced_and_said_once",
    "code_that_others_may_have_written_is_not_executed",
    "a_cache_that_cannot_be_written_is_said_once",
    "a_full_disk_is_said_once_and_leaves_nothing",
    "digest_follows_globals_and_helpers",
    "digest_gives_up_on_what_it_cannot_see",
    "functions_of_one_name_have_symbols_of_their_own",
)

# Room: the files that are changed, and the tests that must notice, those first that notice most.
ROOMS: dict[str, tuple[list[str], list[str]]] = {
    "engine": (
        ["engine/*.py"],
        [
            *(f"tests/edge/test_{name}.py" for name in ("events", "units", "found", "modes", "million", "energy")),
            "tests/analytic/test_ball.py",
            "tests/test_trajectory.py",
            "tests/test_bits.py",
            "tests/test_many.py",
            "tests/test_rollout.py",
            "tests/edge/test_wheels_in_space.py",
            "tests/edge/test_bad_input.py",
            "tests/test_audit_notices.py",
            "tests/test_impulses.py",
            "tests/edge/test_zeno.py",
            "tests/convergence",
        ],
    ),
    "contact": (
        ["contact/*.py", "contact/laws/*.py"],
        [
            *(f"tests/analytic/test_{name}.py" for name in ("ball", "block", "rod", "grip", "disc", "painleve")),
            *(f"tests/edge/test_{name}.py" for name in ("units", "modes", "found", "million")),
            "tests/conformance/test_laws.py",
            "tests/analytic/test_impacts_in_space.py",
            "tests/analytic/test_joint.py",
            "tests/test_impulses.py",
            "tests/edge/test_impacts.py",
            "tests/edge/test_zeno.py",
            "tests/test_graph.py",
            "tests/analytic/test_jacobian.py",
            "tests/test_bits.py",
            "tests/test_worlds.py",
        ],
    ),
    "derivatives": (
        [f"engine/{name}.py" for name in DERIVATIVES],
        ["tests/analytic/test_jacobian.py", "tests/analytic/test_linear.py", "tests/gaits/test_cycle.py"],
    ),
    "audit": (
        ["engine/_audit*.py"],
        ["tests/test_audit_notices.py", "tests/test_audit.py", "tests/test_trajectory.py", "tests/edge/test_energy.py"],
    ),
    "cache": (
        ["_cache.py", "_closure.py", "_native.py"],
        [
            # first those that compile next to nothing, whatever is wrong with the cache
            *(f"tests/test_cache.py::test_{name}" for name in QUICK),
            "tests/test_cache_keys.py",
            "tests/test_cache.py",
            "tests/test_bits.py",
        ],
    ),
    "tables": (["control/_table.py"], ["tests/test_tables.py"]),
}
SAMPLED = ("engine", "contact", "derivatives", "audit", "cache")

# Mutants that no test caught once: room, file, what stands there, what takes its place.
ESCAPED = (
    ("cache", "_cache.py", "            codegen.magic_tuple(),\n", ""),
    ("cache", "_native.py", 'f"{closure.digest}:{signature}:{_how()}"', 'f"{closure.digest}:{signature}"'),
    ("cache", "_cache.py", "if content[: len(_HEAD) + _DIGEST] != _HEAD + hashlib.sha256(payload).digest():",
     "if content[: len(_HEAD)] != _HEAD:"),
    ("audit", "engine/_audit.py", 'Check("gaps and slip", worst_length,', 'Check("gaps and slip", 0.0,'),
    ("audit", "engine/_audit.py", 'Check("impulses push", _impulses(run),', 'Check("impulses push", 0.0,'),
    ("tables", "control/_table.py", "SAME = 1e-12", "SAME = 1e-3"),
    ("engine", "engine/_guards.py", "if zero and g + base > floor:", "if False:"),
)  # fmt: skip

COMPARED = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}  # fmt: skip
CALCULATED = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
DROPPED = (ast.AugAssign, ast.Expr, ast.Break, ast.Continue, ast.Raise)


@dataclass(frozen=True)
class Mutant:
    """One fault: the text of a file from one character to another, and what stands there instead."""

    room: str
    file: str
    begin: int
    end: int
    line: int
    old: str
    new: str
    digest: str

    @property
    def name(self) -> str:
        """What it is known by while its file stays as it is."""
        words = (self.file, self.begin, self.end, self.new, self.digest)
        return hashlib.sha256(repr(words).encode()).hexdigest()[:12]

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.old}  ->  {self.new}"


# -- which there are -------------------------------------------------------------------------


def files_of(room: str) -> list[Path]:
    """The files of a room; those of derivatives and the audit are not also the engine's."""
    found = [path for pattern in ROOMS[room][0] for path in sorted(SOURCE.glob(pattern))]
    if room == "engine":
        apart = {path for other in ("derivatives", "audit") for path in files_of(other)}
        found = [path for path in found if path not in apart]
    return found


def mutants_of(room: str) -> list[Mutant]:
    """All mutants of a room's files, in their order."""
    made = []
    for path in files_of(room):
        text = path.read_text()
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line.encode()))
        place = path.relative_to(SOURCE).as_posix()
        for node, new in changes(ast.parse(text)):
            begin = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            old = text.encode()[begin:end].decode()
            made.append(Mutant(room, place, begin, end, node.lineno, old, new, digest))
    return made


def changes(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """Nodes that are changed, each with the text that takes its place."""
    for node in _code(tree):
        if isinstance(node, ast.Compare):
            for k, operator in enumerate(node.ops):
                for other in COMPARED[type(operator)]:
                    yield node, _with(node, "ops", [*node.ops[:k], other(), *node.ops[k + 1 :]])
        elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in CALCULATED:
            yield node, _with(node, "op", CALCULATED[type(node.op)]())
        elif isinstance(node, ast.BoolOp):
            yield node, _with(node, "op", ast.Or() if isinstance(node.op, ast.And) else ast.And())
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
            yield node, f"({ast.unparse(node.operand)})"
        elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
            yield node, _other(node.value)
        if isinstance(node, (ast.If, ast.IfExp, ast.While)) and not isinstance(node.test, ast.Constant):
            yield node.test, f"(not ({ast.unparse(node.test)}))"
        kept = isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.Yield))
        if isinstance(node, DROPPED) and not kept:
            yield node, "pass"


def _with(node: ast.AST, name: str, value: object) -> str:
    changed = copy.copy(node)
    setattr(changed, name, value)
    text = ast.unparse(changed)
    return text if isinstance(node, ast.stmt) else f"({text})"


def _other(value: bool | float) -> str:
    if isinstance(value, bool):
        return str(not value)
    return repr(value + 1) if isinstance(value, int) else repr(2.0 * value if value else 1.0)


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Every node that runs: no types, no words of messages, nothing that only type checkers see."""
    if isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom)):
        return
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("__all__", "__version__"):
        return
    yield node
    skipped = {"annotation", "returns", "exc", "decorator_list"}
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if name not in skipped and isinstance(child, ast.AST):
                yield from _code(child)


def escaped() -> list[Mutant]:
    """Those of ESCAPED whose place is still there."""
    made = []
    for room, file, old, new in ESCAPED:
        text = (SOURCE / file).read_bytes()
        if text.count(old.encode()) != 1:
            print(f"no longer there: {file}: {old}")
            continue
        begin = text.index(old.encode())
        line = text[:begin].count(b"\n") + 1
        digest = hashlib.sha256(text).hexdigest()[:12]
        made.append(Mutant(room, file, begin, begin + len(old.encode()), line, old, new, digest))
    return made


def sample(rooms: list[str], count: int, seed: int) -> list[Mutant]:
    """Mutants drawn from the rooms in turn; more of the same seed begin with the same."""
    orders = []
    for room in rooms:
        every = mutants_of(room)
        random.Random(f"{seed} {room}").shuffle(every)
        orders.append(every)
    turns = [one for k in range(count) for one in (order[k] for order in orders if k < len(order))]
    return turns[:count]


# -- whether they are caught -----------------------------------------------------------------


class Tree:
    """A copy of the tree in which one file at a time is changed, with a cache of machine code of its own."""

    def __init__(self, folder: Path):
        self.folder = folder
        shutil.rmtree(folder / "tree", ignore_errors=True)
        self.warm = folder / "warm"
        self.cold = folder / "cold"
        self.root = folder / "tree"
        ignored = shutil.ignore_patterns("__pycache__", ".*")
        for name in ("src", "tests", "docs", "examples", "benchmarks"):
            shutil.copytree(ROOT / name, self.root / name, ignore=ignored, dirs_exist_ok=True)
        for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "Makefile"):
            shutil.copy(ROOT / name, self.root)

    def tests(self, room: str, cache: Path, limit: float) -> tuple[str, float, str]:
        """Run the tests of a room: how they ended, after how long, and the last words of those that failed."""
        names = [name for name in ROOMS[room][1] if (self.root / name.partition("::")[0]).exists()]
        command = [sys.executable, "-m", "pytest", "-x", "-v", "--tb=line", "-p", "no:cacheprovider", *names]
        settings = {**os.environ, "PYTHONPATH": str(self.root / "src"), "SALTUS_CACHE": str(cache)}
        settings |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
        log, begin = self.folder / "log", time.monotonic()
        with log.open("w") as out:
            process = subprocess.Popen(
                command, cwd=self.root, env=settings, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
            )
            try:
                code = process.wait(limit)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        seconds = time.monotonic() - begin
        if code is None:
            return ("hangs" if time.time() - log.stat().st_mtime > HANGS else "late"), seconds, _last(log)
        return {0: "survived", 1: "killed"}.get(code, "killed at once"), seconds, "" if code == 0 else _last(log)

    def fill(self, rooms: list[str]) -> None:
        """Run all tests without a mutant, unless this was done: they must pass, and what they compile is stored."""
        stamp, now = self.folder / "filled.json", _digest(self.root)
        done = json.loads(stamp.read_text()) if stamp.exists() else {}
        for room in rooms:
            if done.get(room) == now:
                continue
            end, seconds, words = self.tests(room, self.warm, 3600)
            print(f"{room}: without a mutant its tests take {seconds:.0f} s", flush=True)
            if end != "survived":
                raise SystemExit(f"the tests of {room} fail without a mutant: {words}")
            done[room] = now
            stamp.write_text(json.dumps(done))

    def judge(self, mutant: Mutant, limit: float) -> tuple[str, float, str]:
        """Put a mutant in, run the tests, take it out."""
        path = self.root / "src" / "saltus" / mutant.file
        before = path.read_bytes()
        after = before[: mutant.begin] + mutant.new.encode() + before[mutant.end :]
        if hashlib.sha256(before).hexdigest()[:12] != mutant.digest:
            raise SystemExit(f"{mutant.file} was edited meanwhile; start again")
        if _same_code(before, after):
            return "same code", 0.0, ""
        shutil.rmtree(self.cold, ignore_errors=True)
        shutil.copytree(self.warm, self.cold, copy_function=os.link, ignore=shutil.ignore_patterns(".*"))
        self.cold.chmod(0o700)
        path.write_bytes(after)
        try:
            return self.tests(mutant.room, self.cold, limit)
        finally:
            path.write_bytes(before)


def _digest(root: Path) -> str:
    """Of all Python files of a tree."""
    whole = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        whole.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()


def _same_code(before: bytes, after: bytes) -> bool:
    """Whether the compiler makes the same of both, but for line numbers."""
    return ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))


def _last(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR", "Fatal"))]
    return (failed or lines or [""])[-1][:300]


# -- what came out ---------------------------------------------------------------------------


def known(out: Path) -> dict[str, dict]:
    """Results in a file, by the name of the mutant; the last one of each counts."""
    if not out.exists():
        return {}
    results = {}
    for line in out.read_text().splitlines():
        with contextlib.suppress(ValueError):  # the last line of a run that was killed may be cut
            result = json.loads(line)
            results[result["name"]] = result
    return results


def argued(result: dict) -> str:
    """Why a survivor is equivalent, if that has been argued for this line."""
    lines = (SOURCE / result["file"]).read_text().splitlines()
    place = {**result, "source": lines[result["line"] - 1].strip() if result["line"] <= len(lines) else ""}
    for entry in json.loads(EQUIVALENT.read_text()) if EQUIVALENT.exists() else []:
        if all(entry[key] == place[key] for key in ("file", "source", "old", "new")):
            return str(entry["why"])
    return ""


def report(results: list[dict]) -> list[dict]:
    """Print how many were caught, and every survivor; those that no test can catch come with the reason."""
    counts: dict[str, Counter[str]] = {}
    for result in results:
        end = "equivalent" if result["end"] == "survived" and argued(result) else result["end"]
        counts.setdefault(result["room"], Counter())[end] += 1
    for room, ends in counts.items():
        print(f"{room:12} " + ", ".join(f"{count} {end}" for end, count in ends.most_common()))
    left = [result for result in results if result["end"] == "survived" and not argued(result)]
    judged = [result for result in results if result["end"] not in ("same code", "late") and not argued(result)]
    if judged:
        share = 1 - len(left) / len(judged)
        print(f"{len(judged) - len(left)} of {len(judged)} caught, {100 * share:.0f} %")
    for result in left:
        print(f"survived: {result['file']}:{result['line']}: {result['old']}  ->  {result['new']}")
    return left


def main() -> int:
    """Draw mutants, run what is not yet known, report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="how many mutants")
    parser.add_argument("--seed", type=int, default=1, help="of the drawing")
    parser.add_argument("--room", action="append", choices=list(ROOMS), help="one room; may be given several times")
    parser.add_argument("--limit", type=float, default=LIMIT, help="how long the tests of a mutant may take, s")
    parser.add_argument("--out", type=Path, default=ROOT / "out" / "mutants.jsonl", help="file of results")
    parser.add_argument(
        "--folder", type=Path, help="where the copy of the tree and the cache go; a new one if not given"
    )
    parser.add_argument("--escaped", action="store_true", help="those that no test caught once, instead of a sample")
    parser.add_argument("--again", action="store_true", help="run survivors once more")
    parser.add_argument("--list", action="store_true", help="only print which mutants are drawn")
    chosen = parser.parse_args()
    drawn = escaped() if chosen.escaped else sample(chosen.room or list(SAMPLED), chosen.count, chosen.seed)
    if chosen.list:
        print("\n".join(map(str, drawn)))
        return 0
    results = known(chosen.out)
    redo = ("survived", "late") if chosen.again else ()
    wanted = [one for one in drawn if one.name not in results or results[one.name]["end"] in redo]
    if wanted:
        chosen.out.parent.mkdir(parents=True, exist_ok=True)
        folder = chosen.folder or ROOT / "out" / "mutants"
        folder.mkdir(parents=True, exist_ok=True)
        tree = Tree(folder)
        tree.fill(list(dict.fromkeys(one.room for one in wanted)))
        for k, one in enumerate(wanted):
            end, seconds, words = tree.judge(one, chosen.limit)
            results[one.name] = {"name": one.name, **asdict(one), "end": end, "seconds": seconds, "words": words}
            with chosen.out.open("a") as file:
                file.write(json.dumps(results[one.name]) + "\n")
            print(f"{k + 1}/{len(wanted)} {one}: {end} ({seconds:.0f} s)", flush=True)
    return 1 if report([results[one.name] for one in drawn]) else 0


if __name__ == "__main__":
    sys.exit(main())
