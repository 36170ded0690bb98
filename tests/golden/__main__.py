"""Write the golden files anew: python -m tests.golden, or with the beginnings of the paths of those to write."""

import sys

from tests.composing import parse_each_file_once
from tests.golden.contents import GOLDEN, files

parse_each_file_once()
asked = tuple(sys.argv[1:]) or ("",)  # read before a verb sets sys.argv for Hydra
for name, make in files().items():
    if name.startswith(asked):
        path = GOLDEN / name
        path.parent.mkdir(exist_ok=True)
        text = make()
        if not path.is_file() or path.read_text() != text:
            path.write_text(text)
            print(f"{name} changed")
