"""What a CUDA graph cannot record is refused when the settings are checked, without torch."""

import subprocess
import sys

import pytest

from lra.settings.check import check_config
from lra.settings.compose import load_config
from tests.conftest import outer_environment

EXACT, REDRAWN = ["attention.pinv=exact"], ["attention=performer", "attention.redraw_every=100"]


@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune"])
@pytest.mark.parametrize("words, option", [(EXACT, "pinv=iterative"), (REDRAWN, "redraw_every=0")])
def test_a_step_that_waits_or_changes_is_refused(mode, words, option, home, refused):
    error = refused("train", "size=tiny", "recipe.steps=2", f"compile={mode}", *words)
    assert (error.kind, error.key, error.value) == ("contradiction", "compile", mode)
    assert error.right == f"compile=true, or attention.{option}"


@pytest.mark.parametrize(
    "words",
    [
        ["compile=true", *EXACT],
        ["compile=true", *REDRAWN],
        ["compile=reduce-overhead"],
        ["compile=reduce-overhead", "attention=performer"],
        ["compile=reduce-overhead", "mixer=s4d", *EXACT],
        ["compile=reduce-overhead", "attention=full"],
    ],
    ids=" ".join,
)
def test_others_are_taken(words):
    check_config(load_config("train", words), "train")


def test_the_check_needs_no_torch():
    code = (
        "import sys\nsys.modules['torch'] = None\n"
        "from lra.settings.check import check_config\nfrom lra.settings.compose import load_config\n"
        f"check_config(load_config('train', {['compile=reduce-overhead', *EXACT]}), 'train')\n"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=outer_environment())
    assert "lra.types.UserError: compile=reduce-overhead" in done.stderr
