"""The front end's modules by node's own test runner, and the page they are put into."""

import json
import re
import shutil
import subprocess
import tomllib
from html.parser import HTMLParser
from pathlib import Path

import pytest

from saltus.errors import InputError
from saltus.show import _bundle
from saltus.show._bundle import bundle, page

HERE = Path(__file__).parent
WEB = Path(_bundle.__file__).parent / "web"
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")

NASTY = "</script><script>alert(1)</script><!-- {{script}} \u2028 & < > \"'"


def document(**more):
    return {"format": 1, "title": "T", "sections": [{"type": "text", "text": "words"}], **more}


@needs_node
@pytest.mark.parametrize("file", sorted(HERE.glob("*.test.mjs")), ids=lambda file: file.name)
def test_modules(file):
    done = subprocess.run([NODE, "--test", str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^# pass [1-9]", done.stdout, re.MULTILINE)


class Scripts(HTMLParser):
    """The scripts of a page as a browser parts them."""

    def __init__(self):
        super().__init__()
        self.scripts, self.open, self.title, self.inside = [], None, "", ""

    def handle_starttag(self, tag, attributes):
        self.inside = tag
        if tag == "script":
            self.open = (dict(attributes), [])

    def handle_data(self, data):
        if self.open is not None:
            self.open[1].append(data)
        elif self.inside == "title":
            self.title += data

    def handle_endtag(self, tag):
        self.inside = ""
        if tag == "script":
            self.scripts.append((self.open[0], "".join(self.open[1])))
            self.open = None


def parsed(text):
    parser = Scripts()
    parser.feed(text)
    return parser


def test_a_page_has_its_data_and_one_module():
    parser = parsed(page(document(title=NASTY)))
    (data, text), (module, code) = parser.scripts
    assert data == {"id": "saltus-data", "type": "application/json"}
    assert json.loads(text) == document(title=NASTY)
    assert module == {"type": "module"}
    assert "import " not in re.sub(r"//.*|/\*.*?\*/", "", code)
    assert parser.title == NASTY


def test_a_page_names_nothing_outside():
    text = page(document())
    # a name space is a name and nothing that is fetched
    assert set(re.findall(r"https?://[^\s\"'`]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<link|@import|url\(|src=", text)


def test_data_cannot_end_their_element():
    text = page(document(title=NASTY, subtitle="\u2029"))
    data = text[text.index('type="application/json">') :]
    data = data[: data.index("</script>")]
    assert "<" not in data.partition(">")[2]
    assert "\u2028" not in data
    assert "\u2029" not in data


def test_code_cannot_end_its_element():
    code = _bundle.script_safe('const a = "</SCRIPT>", b = "<!-- x", c = "\u2028";')
    assert code == 'const a = "<\\/SCRIPT>", b = "<\\!-- x", c = "\\u2028";'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object()])
def test_what_is_no_json_is_refused(value):
    with pytest.raises(InputError, match="cannot be written as JSON"):
        page(document(value=value))


# -- modules into one script ------------------------------------------------------------------------


def read_from(files):
    def read(name):
        if name not in files:
            raise FileNotFoundError(name)
        return files[name]

    return read


@needs_node
def test_modules_keep_their_own_names(tmp_path):
    files = {
        "main.mjs": 'import { a, twice } from "./a.mjs";\nimport {\n  B,\n} from "./b.mjs";\nconst hidden = "main";\n'
        "console.log(a, twice(2), new B().name, hidden);\n",
        "a.mjs": 'import { B } from "./b.mjs";\nconst hidden = "a";\nexport const a = hidden + new B().name;\n'
        "export function twice(x) {\n  return 2 * x;\n}\n",
        "b.mjs": 'const hidden = "b";\nexport class B {\n  name = hidden;\n}\nexport async function later() {}\n',
    }
    file = tmp_path / "all.mjs"
    file.write_text(bundle(read_from(files)))
    done = subprocess.run([NODE, str(file)], capture_output=True, text=True, check=True)
    assert done.stdout == "ab 4 b main\n"


@pytest.mark.parametrize(
    "line",
    [
        'import thing from "./a.mjs";',
        'import * as a from "./a.mjs";',
        'import "./a.mjs";',
        'import { a } from "elsewhere";',
        'import { a } from "../a.mjs";',
        "export default 1;",
        "export let a = 1;",
        "export const { a } = {};",
        "export { a };",
        'const a = await import("./a.mjs");',
        "const a = import.meta.url;",
    ],
)
def test_other_ways_to_import_and_export_are_refused(line):
    with pytest.raises(InputError, match=r"^main\.mjs has "):
        bundle(read_from({"main.mjs": f"// A module.\n{line}\n", "a.mjs": "export const a = 1;\n"}))


def test_what_is_not_exported_cannot_be_imported():
    files = {"main.mjs": 'import { b } from "./a.mjs";\n', "a.mjs": "export const a = 1;\nconst b = 2;\n"}
    with pytest.raises(InputError, match=r"main\.mjs imports b, which a\.mjs does not export"):
        bundle(read_from(files))
    files["main.mjs"] = 'import { a as b } from "./a.mjs";\n'
    with pytest.raises(InputError, match="imports a as b"):
        bundle(read_from(files))


def test_a_circle_is_named():
    files = {
        "main.mjs": 'import { a } from "./a.mjs";\n',
        "a.mjs": 'import { b } from "./b.mjs";\nexport const a = 1;\n',
        "b.mjs": 'import { a } from "./a.mjs";\nexport const b = 1;\n',
    }
    with pytest.raises(InputError, match=r"a\.mjs -> b\.mjs -> a\.mjs"):
        bundle(read_from(files))


def test_a_module_that_is_missing_is_named():
    with pytest.raises(InputError, match=r"no module a\.mjs, imported by main\.mjs"):
        bundle(read_from({"main.mjs": 'import { a } from "./a.mjs";\n'}))


# -- the files themselves ---------------------------------------------------------------------------


def test_every_module_is_in_the_page():
    code = bundle(_bundle.source)
    for file in WEB.glob("*.mjs"):
        assert f"const module_{file.stem} = " in code


@pytest.mark.parametrize("file", sorted(WEB.rglob("*.mjs")), ids=lambda file: file.name)
def test_a_module_says_first_what_it_is_for(file):
    lines = file.read_text(encoding="utf-8").splitlines()
    assert re.fullmatch(r"// [A-Z].*\.", lines[0])
    assert max(map(len, lines)) <= 120


def test_the_files_are_installed():
    project = tomllib.loads((HERE.parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]["saltus.show"]
    installed = {file for pattern in patterns for file in WEB.parent.glob(pattern)}
    assert installed == {file for file in WEB.rglob("*") if file.is_file()}
