"""Every task's file names how its data are opened and looked at."""

import numpy as np
import pytest

from lra import from_config
from lra.base.paths import conf_names
from lra.data.codec import images
from lra.settings.compose import load_config
from lra.settings.which_run import hashed_settings
from lra.types import UserError

PIXELS = ("image", "pathfinder", "pathx")


@pytest.mark.parametrize("task", conf_names("task"))
def test_a_task_has_a_codec_and_a_source(task):
    cfg = load_config("train", [f"task={task}", "size=tiny"])
    codec = from_config.build_codec(cfg)
    stored = np.full(16, 7, np.uint8)
    assert [image.shape for image in images(codec, [stored])] == ([(4, 4)] if task in PIXELS else [])
    assert codec.draw([stored] * cfg.task.spec.num_sequences, {})
    assert codec.version.count(".") == 2
    assert callable(from_config.build_source(cfg))


def test_neither_is_among_the_settings_that_move_a_number():
    cfg = load_config("train", ["size=tiny"])
    assert not {"codec", "open_source", "sizes"} & hashed_settings(cfg)["task"].keys()


def test_a_file_without_them_is_one_line():
    cfg = load_config("train", ["size=tiny"])
    without = {key: value for key, value in cfg.plain("task").items() if key not in ("codec", "open_source")}
    cfg = cfg.with_group("task", without)
    with pytest.raises(UserError, match="task=listops has no codec:"):
        from_config.build_codec(cfg)
    with pytest.raises(UserError, match="task=listops has no open_source:"):
        from_config.build_source(cfg)
