"""Files of saltus with something changed in them."""

import json

import numpy as np

from saltus._records import _digest, _digest_of_words


def rewritten(path, target, change, *, whole):
    """A file of arrays after ``change(head, arrays)``; with a digest that fits, if it is to be whole."""
    with np.load(path) as file:
        arrays = dict(file)
    head, digest = json.loads(str(arrays.pop("head"))), str(arrays.pop("digest"))
    change(head, arrays)
    words = json.dumps(head)
    np.savez(target, head=np.array(words), digest=np.array(_digest(words, arrays) if whole else digest), **arrays)
    return target


def reworded(path, *, whole=True, **changes):
    """Change what a JSON file of saltus says; with a digest that fits, if it is to be whole."""
    content = json.loads(path.read_text()) | changes
    digest = content.pop("digest")
    content = {name: value for name, value in content.items() if value is not ...}
    path.write_text(json.dumps({**content, "digest": _digest_of_words(content) if whole else digest}))
    return path
