"""What stands in for the parts of a documented command that no test can have, and what makes each of them small.

Each table is of patterns of a regular expression. A command that none of them fits is run as it is shown.
"""

import re
from collections.abc import Collection

from lra.cli import VERBS

# What is typed in place of a part that a reader fills in, or that a test has not; the test makes ELSEWHERE and RUN.
STAND_INS = (
    (r"^lra show …$", "lra show model"),
    (r"^lra report …$", "lra report run_group=default"),
    (r"^lra sweep …", "lra sweep landmarks"),
    (r"^lra prepare … source=… force=true$", "lra prepare task=text source=my.tar.gz force=true"),
    (r"^lra prepare (…|task=… source=/data/…$)", "lra prepare task=listops"),
    (r"^lra train task=… …$", "lra train task=listops attention=full"),
    (r"^lra train( trainer=ddp)? … force=true$", r"lra train\1 task=listops force=true"),
    (r"^lra new( ….*)?$", "lra new attention mine"),
    (r"^lra new task (…|mine source=(…|my\.csv…)).*$", "lra new task mine source=my.csv"),
    (r"attention=nystrom\{other\}\{name\}", "attention=nystrom,average"),
    (r"task=(…+|NAME|\{name\}|mine\b)", "task=listops"),
    (r"attention=(…|NAME)", "attention=full"),
    (r"size=…", "size=tiny"),
    (r"key=value,value", "seed=0,1"),
    (r" …$", " attention=nystrom"),  # the attention or mixer of a record
    (r"workers=(N|…)", "workers=2"),
    (r"\bPATH\b|(?<=import )FOLDER|(?<= )/mnt/\w+/runs|(?<==)/mnt/other/runs", "ELSEWHERE"),
    (r"run=runs/default/listops/nystrom/(…|[\w-]+)/seed0", "run=RUN"),
    (r"run=([0-9a-f]{8}|HASH|…)( seed=(0|SEED|…))?$|run=[0-9a-f]{8}( seed=0)?", "run=RUN"),
    (r"run=DIR", "run=RUN"),
    (r"attention=([\w,]+,)?mine\b", r"attention=\1average"),  # what a reader has written
    (r"mixer=mine\b", "mixer=gated"),
    (r"^lra evaluate --config-dir FOLDER", "lra evaluate --config-dir FOLDER run=RUN"),
    (r"budget=20", "budget=1"),
    (r"sweep=(mine|…)", "sweep=tune"),
    (r"source=/data/", "source=~/"),  # a folder below the root
    (
        r"hydra/launcher=submitit_slurm hydra.launcher.timeout_min",
        "hydra/launcher=submitit_local hydra.launcher.timeout_min",
    ),
    (r" hydra\.launcher\.partition=NAME", ""),
    (r"workers=8", "workers=2"),
    (r"(?<!jsonl )size=short(?!,)", "size=tiny"),  # but for published records
    (r"task=listops,text,image,pathfinder attention=[\w,]+", "task=listops,image attention=nystrom,none"),  # 24 cells
    (r"task=pathfinder recipe\.steps=2400 attention=[\w,]+", "task=listops recipe.steps=2 attention=full,none"),
    (r"\bn=(512,1024(,4096)?|1024,4096)\b", "n=64,128"),
    (r"=32,64,128 task=text,image seed=0,1", "=32 task=text seed=0"),  # 16 cells
    (r"^lra sweep window task=listops,image", "lra sweep window task=listops"),  # 8 cells
    (r"attention\.block_length=2,8,32", "attention.block_length=8"),
    (
        r"recipe\.steps=500 .* task\.sizes\.full\.marks=21 \S+ attention\.block_length=2,4,6,8,16",
        "task.sizes.tiny.values=2 task.sizes.tiny.marks=9 task.sizes.tiny.noise=0.1 attention.block_length=8",
    ),  # 16 cells, and more marks than size=tiny has room for
    (r"task\.sizes\.full\.", "task.sizes.tiny."),
    (r"^lra sweep capacity$", "lra sweep capacity plan attention=linear"),
    (
        r"(?<=^lra sweep capacity )attention=\S+ task\.sizes\.tiny\.pairs=\S+",
        "attention=linear task.sizes.tiny.pairs=4",
    ),
    (r"attention=full,linear task\.sizes\.tiny\.pairs=4,8,16", "attention=linear task.sizes.tiny.pairs=4,8"),
    (r"(compare|table) run attention=all", r"\1 run attention=nystrom,average"),  # 17; one with task=listops has them
)

# What is typed besides, unless the command says something else of the same key: the same way in seconds.
TINY = "size=tiny recipe.steps=2 recipe.eval_every=2 trainer.threads=1"
ADDED = (
    (r"^lra train '?\+logger\.wandb", "logger=wandb"),
    (r"^lra (train|table|sweep|compare|tune) (?!--cfg|.*jsonl)|^lra (train|table|compare|tune)$", f"{TINY} logger=csv"),
    (r"pretrain=masked|sweep=pretraining", "pretrain.steps=2 pretrain.eval_every=1"),
    (r"sweep=pretraining", "task=listops attention=none"),
    (r"^lra (table|compare) (plan|run) sweep=probes", "task=recall attention=linear seed=0 budget=1"),
    (r"^lra table show sweep=probes", "task=recall attention=linear seed=0"),
    (r"^lra tune(?! show)", "task=listops attention=nystrom budget=1"),
    (r"^lra examine", f"{TINY} task=listops probes=recall n=64 seed=0 budget=1 logger=csv"),
    (r"^lra table (plan|run)", "task=listops attention=nystrom seed=0"),
    (r"^lra compare (run|plan)", "seed=0"),
    (r"^lra sweep landmarks(?! show)", "seed=0 attention.num_landmarks=8"),
    (r"^lra sweep window(?! show)", "task=listops seed=0 attention.block_length=8"),
    (r"^lra train sweep=", "task=listops attention=nystrom seed=0"),
    (r"^lra bench step", f"{TINY} steps=1 dev_batches=1"),
    (r"^lra bench attention(?! show=)", "n=64,128 batch=1 repeats=1 threads=1"),
    (r"^lra (prepare|show data|show model)", "size=tiny"),
    (r"^lra prepare .*source=(~|/data|my)", "verify=false"),  # stand-ins are not the published archives
    (r"^lra diagnose", "sequences=1"),
    (r"^lra diagnose .*run=", "examples=8"),
    (r"^lra diagnose(?!.* run=)", "size=tiny"),
    (r"^lra publish run", "dirty=true"),  # the tests may run in a changed checkout
)

# What is typed before: what the command is about must be there.
BEFORE = (
    (r"^lra prepare task=(\w+) (check|force)=true$", r"lra prepare task=\1 size=tiny"),
    (r"^lra prepare task=text source=my.tar.gz force=true$", "lra prepare task=text size=tiny"),
    (r"^lra tune show", "lra tune run budget=1"),
    (r"^lra table show sweep=probes", "lra table run sweep=probes"),
    (
        r"^lra compare show task=image attention=nystrom,average.*",
        "lra compare run task=image attention=nystrom,average",
    ),
)

# What ends with one line instead, and what this line says.
REFUSED = (
    (r"trainer=gpu", "CUDA"),
    (r"^lra (table|compare) (plan|run) recipe=tuned", "lra tune run"),  # tests/commands/test_tune.py has trials
    (r"against=pypi", "against=pypi "),  # the tests' environment has not the extra `peers`
    (r"^lra export$", "run= "),
    (r"^lra fill-mask$", "model= "),
    (r"^lra fill-mask model=", "model=nystromformer-512 "),  # tests/tools/interop/test_fill_mask.py makes a folder
    (r"^lra publish$", "lra publish run_group="),
)

# Processes of their own or minutes: not among the fast tests.
SLOW = (
    r"^lra (table|compare|sweep landmarks|sweep window) (plan|run)",
    r"^lra tune(?! show)",
    r"^lra examine",
    r"^lra table show sweep=probes",
    r"^lra compare show task=image attention=nystrom,average",
    r"^lra sweep (landmarks|window)(?! show)",
    r"^lra train (-m|trainer=ddp|sweep=)",
    r"^lra bench",
    r"^lra diagnose",
    r"^lra diagnose .*(logger=wandb|attention=performer|to=)",  # tests/commands/test_diagnose.py types the like
    r"size=short,tiny",
    r"^lra prepare task=path\w+ size",  # images are drawn
    r"^lra prepare task=(listops|text source=my.tar.gz) (check|force)=true",  # made twice
    r"^lra check (attention|mixer)=",  # tests/attention and tests/mixers hold them to their contract
    r"^lra train .*(protocol|seed|mixer|experiment)=",  # in the fast tests they compose
    r"^lra train .*( \+| ~|callbacks=|tensorboard)",  # test_pass_through.py types the like
)
DEFAULTS = {
    "task=listops",
    "attention=nystrom",
    "protocol=paper",
    "seed=0",
    "source=generate",
}


def typed(command: str) -> str:
    """The command as the test types it."""
    for pattern, stand_in in STAND_INS:
        command = re.sub(pattern, stand_in, command)
    for pattern, words in ADDED:
        if re.search(pattern, command):
            keys = {word.split("=")[0] for word in command.split()}
            command = " ".join([command, *(word for word in words.split() if word.split("=")[0] not in keys)])
    return command


def before(command: str) -> str | None:
    """The command that makes what this one needs, as the test types it."""
    for pattern, first in BEFORE:
        if re.search(pattern, command):
            return typed(re.sub(pattern, first, command))
    return None


def refusal(command: str) -> str | None:
    """What the line of an error says, for a command that must be refused here."""
    return next((said for pattern, said in REFUSED if re.search(pattern, command)), None)


def is_slow(command: str, all_commands: Collection[str]) -> bool:
    """Whether it starts processes, takes minutes, or is another one with defaults spelled out."""
    shorter = " ".join(word for word in command.split() if word not in DEFAULTS)
    return (shorter != command and shorter in all_commands) or any(re.search(pattern, command) for pattern in SLOW)


def spelled_out(command: str) -> list[str]:
    """`lra VERB …` is of every verb."""
    return [command.replace("VERB", verb) for verb in VERBS] if "VERB" in command else [command]
