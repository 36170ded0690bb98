"""What an unknown option or verb was meant to be: other programs' words for ours come before letters alike."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from lra.base.printed_commands import shell_word

ALIKE_ANYWHERE = 0.7  # among all options, of which some is like almost any word
ALIKE_ELSEWHERE = 0.85  # among other programs' words, of which there are still more

OF_A_SIZE = re.compile(r"^task\.sizes\.\w+\.")  # where `task.data` is set
# Our options, and what other programs, papers and habits call them; the last part of a dotted key is enough.
OTHER_WORDS: Mapping[str, tuple[str, ...]] = {
    "recipe.steps": (
        *("num_steps", "max_steps", "total_steps", "train_steps", "training_steps", "num_train_steps", "nsteps"),
        *("iterations", "iters", "num_iterations", "max_iters", "n_iters", "updates", "max_updates", "total_updates"),
    ),
    "recipe.optimizer.lr": ("learning_rate", "rate", "base_lr", "max_lr", "peak_lr", "init_lr", "base_learning_rate"),
    "recipe.optimizer.weight_decay": ("wd", "decay", "l2"),
    "recipe.batch_size": (
        *("bs", "batch", "batchsize", "train_batch_size", "per_device_train_batch_size", "global_batch_size"),
        "per_gpu_train_batch_size",
    ),
    "trainer.dev_batch_size": ("eval_batch_size", "test_batch_size", "val_batch_size", "per_device_eval_batch_size"),
    "recipe.warmup_fraction": ("warmup_ratio", "warmup_proportion", "pct_start"),
    "recipe.eval_every": (
        *("eval_steps", "eval_interval", "eval_frequency", "val_every", "evaluate_every", "eval_freq"),
        *("validation_interval", "val_interval"),
    ),
    "attention.num_landmarks": ("landmarks", "landmark", "m", "n_landmarks", "num_landmark_points", "inducing_points"),
    "attention.projections": (
        "landmarks",
        "k",
        "rank",
        "proj_dim",
        "projection_dim",
        "linformer_k",
        "projected_length",
    ),
    "attention.features": (
        "landmarks",
        "nb_features",
        "num_features",
        "n_features",
        "rp_dim",
        "random_features",
        "rank",
    ),
    "attention.window": ("window_size", "attention_window", "context", "local_window"),
    "attention.block_length": ("block_size", "window", "window_size", "local_window", "bucket_size", "block_width"),
    "attention.chunk_length": ("chunk_size", "bucket_size", "bucket_length"),
    "attention.num_hashes": ("n_hashes", "hashes", "num_hash", "hash_rounds"),
    "attention.value_skip_taps": ("conv_kernel_size", "kernel_size", "residual_conv_kernel", "conv"),
    "attention.pinv_iterations": ("pinv_iters", "pinv_steps", "inv_iterations"),
    "attention.attention_dropout": ("attn_dropout", "attention_probs_dropout_prob", "attn_pdrop"),
    "mixer.states": ("d_state", "n_ssm", "state_size", "ssm_size", "state_dim"),
    "model.num_layers": ("layers", "n_layers", "nlayers", "n_layer", "depth", "num_hidden_layers", "num_blocks"),
    "model.width": (
        *("d_model", "dim", "hidden_size", "hidden_dim", "embed_dim", "embedding_dim", "n_embd", "hidden", "emb_dim"),
        *("transformer_dim", "model_dim"),
    ),
    "model.num_heads": ("heads", "n_heads", "nhead", "n_head", "num_attention_heads", "num_head"),
    "model.head_dim": ("dim_head", "d_head", "head_size"),
    "model.feed_forward": ("ffn", "d_ff", "mlp_dim", "ff_dim", "ffn_dim", "intermediate_size", "hidden_ff", "ff"),
    "model.dropout": ("drop", "dropout_prob", "dropout_rate", "hidden_dropout_prob", "p_drop", "resid_pdrop"),
    "model.pooling": ("pool", "pooling_mode"),
    "model.positions": ("pos", "pos_emb", "position_embedding", "positional_encoding", "rope"),
    "model.norm_place": ("prenorm", "pre_norm", "norm_first"),
    "task.data.max_length": ("max_len", "seq_len", "seqlen", "seq_length", "sequence_length", "length", "max_seq_len"),
    "trainer.devices": (
        "num_devices",
        "n_devices",
        "nproc_per_node",
        "num_gpus",
        "n_gpu",
        "n_gpus",
        "ngpus",
        "world_size",
    ),
    "trainer.num_nodes": ("nodes", "nnodes", "n_nodes"),
    "trainer.precision": ("dtype", "mixed_precision"),
    "trainer.accumulate_grad_batches": (
        *("grad_accum", "accumulate", "accumulation_steps", "gradient_accumulation", "gradient_accumulation_steps"),
        *("accumulate_grad", "grad_accumulation_steps", "accum"),
    ),
    "trainer.gradient_clip_val": ("clip", "grad_clip", "clip_grad", "max_grad_norm", "gradient_clip", "grad_norm_clip"),
    "trainer.threads": ("num_threads", "n_threads", "cpus", "num_cpus", "torch_threads"),
    "callbacks.log_every_steps": ("log_every", "log_interval", "logging_steps", "log_freq", "print_every"),
    "callbacks.checkpoint_every_seconds": ("save_every", "save_steps", "checkpoint_every", "save_interval"),
    "logger.wandb.mode": ("wandb_mode", "offline", "online"),
    "logger.wandb.project": ("wandb_project", "project_name"),
    "logger.wandb.entity": ("wandb_entity", "team"),
    "paths.runs": (
        *("output_dir", "out_dir", "output", "save_dir", "log_dir", "logdir", "result_dir", "results_dir", "runs_dir"),
        *("checkpoint_dir", "ckpt_dir", "exp_dir", "work_dir"),
    ),
    "paths.data": ("data_dir", "datadir", "data_path", "data_root", "dataset_dir", "root", "cache_dir"),
    "run_group": ("exp_name", "experiment_name", "run_name", "exp", "wandb_group"),
    "seed": ("seeds", "random_seed", "rng_seed", "manual_seed", "data_seed"),
    "task": ("dataset", "data", "tasks", "benchmark", "dataset_name", "task_name"),
    "attention": ("attn", "method", "attention_type", "attn_type", "attention_name", "model_name", "model_type"),
    "force": ("overwrite", "retrain", "rerun"),
    "compile": ("torch_compile", "jit"),
    "check": ("verify_hashes", "checksum"),
    "budget": ("trials", "n_trials", "num_trials", "max_trials", "num_samples"),
    "workers": ("jobs", "n_jobs", "parallel", "processes", "num_workers", "nproc"),
    "run": ("checkpoint", "ckpt", "ckpt_path", "run_id", "hash", "resume_from"),
    "format": ("fmt", "output_format"),
    "out": ("output", "output_file", "file", "save", "to"),
    "to": ("output", "output_dir", "out", "out_dir", "into", "save_dir"),
    "source": ("archive", "path", "file", "input", "data_dir", "download_dir", "url"),
    "from": ("source", "path", "input"),
    "top": ("top_k", "k", "n"),
}
# What no single option of ours says, or what counts something else: what to type, and the words that ask for it.
PHRASES: Mapping[str, tuple[str, ...]] = {
    "recipe.steps=5000, for lra counts steps": ("epochs", "num_epochs", "max_epochs", "n_epochs", "num_train_epochs"),
    "recipe.warmup_fraction=0.1, a share of the steps": ("warmup", "warmup_steps", "num_warmup_steps"),
    "trainer=gpu, and trainer.devices=2 for several": ("gpus", "gpu", "cuda", "use_cuda", "use_gpu"),
    "trainer=gpu or trainer=cpu": ("device", "accelerator"),
    "trainer=gpu trainer.precision=16-mixed": ("fp16", "amp", "use_amp", "half"),
    "trainer.precision=bf16-mixed": ("bf16",),
    "trainer=gpu trainer.precision=tf32": ("tf32",),
    "trainer=ddp trainer.devices=2": ("distributed", "strategy", "ddp"),
    "recipe.optimizer._target_=torch.optim.SGD": ("optim", "optimizer"),
    "recipe.schedule._target_=torch.optim.lr_scheduler.ConstantLR": ("scheduler", "lr_scheduler", "schedule"),
    "callbacks=early_stopping": ("early_stopping", "patience", "early_stop"),
    "logger=wandb, or logger=csv for none": ("wandb", "use_wandb", "log_wandb", "report_to"),
    "the same command again: a run goes on where it stopped": ("resume", "continue", "load", "restore"),
    "size=tiny": ("quick", "smoke", "fast", "test_run", "dry_run", "fast_dev_run"),
    "task.vocabulary=NUMBER": ("vocab_size", "vocab"),
}

# What is typed here, and what other programs call it, or a new user types first.
OTHER_VERBS: Mapping[str, tuple[str, ...]] = {
    "--version": ("version", "-V", "-v"),
    "show runs": ("list", "ls", "runs", "status"),
    "show tasks": ("tasks", "datasets"),
    "show attentions": ("attentions", "methods", "models"),
    "show model": ("model", "summary"),
    "train --cfg job": ("config", "options"),
    "train": ("run", "fit", "start", "resume"),
    "evaluate": ("eval", "test", "validate", "predict"),
    "prepare": ("download", "data", "generate", "fetch"),
    "bench step": ("benchmark", "time", "profile"),
    "bench attention": ("speed",),
    "tune": ("search", "hpo", "optimize"),
    "sweep landmarks": ("landmarks",),
    "sweep window": ("window",),
    "table": ("reproduce",),
    "report": ("results",),
    "compare show": ("plot", "figures"),
    "diagnose": ("analyze", "analyse", "inspect"),
    "new": ("init", "create"),
    "doctor": ("info", "env", "setup"),
    "export": ("save", "convert"),
}


def verb_meant(name: str) -> str | None:
    """What is typed here for a verb of other programs."""
    return next((verb for verb, names in OTHER_VERBS.items() if name in names), None)


def meant_by_other_words(key: str, known: Iterable[str]) -> list[str]:
    """List options that have the same last part as an unknown one, then those that others call so.

    Args:
        key: the unknown option.
        known: the options there are, the likeliest first.
    """
    name, known = last_part(key), list(known)
    same = sorted((other for other in known if last_part(other) == name), key=lambda other: other.count("."))
    return list(dict.fromkeys([*same, *called_so(key, known)]))


def called_so(key: str, known: Iterable[str]) -> list[str]:
    """List those options that other programs call by the last part of a key."""
    by_name = {OF_A_SIZE.sub("task.data.", other): other for other in known}
    return [by_name[other] for other, names in OTHER_WORDS.items() if other in by_name and last_part(key) in names]


def meant_by_letters(key: str, known: Iterable[str]) -> str | None:
    """Find the option whose last part is most like that of an unknown one, or that is called like that elsewhere."""
    if any(last_part(key) in names for names in (*OTHER_WORDS.values(), *PHRASES.values())):
        return None  # not mistyped: it is a word for something that is not there
    ours = {last_part(other): other for other in reversed(list(known))}
    theirs = {name: other for other, names in OTHER_WORDS.items() if other in ours.values() for name in names}
    for names, least in ((ours, ALIKE_ANYWHERE), (theirs, ALIKE_ELSEWHERE)):
        near = get_close_matches(last_part(key), names, n=1, cutoff=least)
        if near:
            return names[near[0]]
    return None


def phrase_for(key: str) -> str | None:
    """What to type for an unknown option that no single one of ours says."""
    return next((phrase for phrase, names in PHRASES.items() if last_part(key) in names), None)


def last_part(key: str) -> str:
    """The last part of a dotted key, in the letters of our options: `--Batch-Size` is `batch_size`."""
    return key.rpartition(".")[2].replace("-", "_").lower()


def with_typed_value(key: str, value: str | None) -> str:
    """Write an option with the value that was typed for another one, as a word of a shell."""
    return key if value is None else shell_word(f"{key}={value}")


def without_hyphens(arguments: Sequence[str]) -> str | None:
    """Read `--task listops` and `--task=listops` as `task=listops`; None where no flag begins with two hyphens."""
    for index, argument in enumerate(arguments):
        if argument.startswith("--"):
            name, sign, value = argument[2:].partition("=")
            following = arguments[index + 1] if index + 1 < len(arguments) else None
            takes_next = not sign and following is not None and "=" not in following and not following.startswith("-")
            return f"{name.replace('-', '_')}={following if takes_next else value if sign else 'true'}"
    return None
