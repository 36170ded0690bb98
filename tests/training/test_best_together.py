"""Several processes test the same weights: none goes on before the best ones are in their place."""

from types import SimpleNamespace

import pytest
import torch

from lra.runs.files import BEST
from lra.training.loop_settings import LoopSettings
from lra.training.resume import ResumePoint


@pytest.mark.parametrize("first", [True, False])
def test_all_wait_until_the_best_weights_are_in_their_place(first, tmp_path):
    (tmp_path / BEST).write_text("before")
    seen = []
    trainer = SimpleNamespace(
        callback_metrics={"dev/accuracy": torch.tensor(0.5)},
        save_checkpoint=lambda path, **_: path.write_text("last"),
        global_step=2,
        is_global_zero=first,
        should_stop=False,
        callbacks=[],
        lightning_module=SimpleNamespace(check_finite=lambda: None),
        _checkpoint_connector=SimpleNamespace(dump_checkpoint=lambda weights_only: {}),
        strategy=SimpleNamespace(
            save_checkpoint=lambda _, path: path.write_text("better"),
            root_device=torch.device("cpu"),
            barrier=lambda name: seen.append((tmp_path / BEST).read_text()) if name == "best" else None,
        ),
    )
    loop = LoopSettings(steps=4, eval_every=2, log_every_steps=1, checkpoint_every_seconds=1)
    point = ResumePoint(tmp_path, loop, best=None)
    point.on_validation_end(trainer, None)
    assert seen == ["better" if first else "before"]
    point.on_validation_end(trainer, None)
    assert len(seen) == 1, "of equals the earliest stay, and nobody waits"
