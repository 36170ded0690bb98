"""W&B online: a server that is not there, one that never answers, one that answers but gets no key."""

import os
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest

from tests.conftest import lra

TRAIN = ("train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger.wandb.mode=online")
KEY = "f" * 40


@pytest.fixture
def silent_server():
    """A port that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def closed_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    return f"http://127.0.0.1:{port}"


@pytest.fixture
def helpless_server():
    """A server that answers everything with an error; it counts what it was asked."""

    class Helpless(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(404)
            self.end_headers()

        def do_POST(self):
            self.do_GET()

        def log_message(self, *_):
            pass

    asked = []
    server = HTTPServer(("127.0.0.1", 0), Helpless)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


def train(data_dir, tmp_path, url, *words, **env):
    settings = {"HOME": str(tmp_path), "WANDB_API_KEY": "", "WANDB_BASE_URL": url, "NO_PROXY": "*", **env}
    begun = time.monotonic()
    done = lra(*TRAIN, *words, data=data_dir, runs=tmp_path / "runs", **settings)
    print(f"{time.monotonic() - begun:.1f} s", done.stderr)
    assert KEY not in done.stderr + done.stdout
    return done


def the_line(done):
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("lra: ")
    assert "logger.wandb.mode=offline" in line
    return line


@pytest.mark.slow
def test_a_server_that_is_not_there_is_one_line(data_dir, tmp_path, closed_port):
    line = the_line(train(data_dir, tmp_path, closed_port, WANDB_API_KEY=KEY))
    assert f"{closed_port} cannot be reached" in line


@pytest.mark.slow
def test_a_server_that_never_answers_is_one_line(data_dir, tmp_path, silent_server):
    line = the_line(train(data_dir, tmp_path, silent_server, WANDB_API_KEY=KEY))
    assert f"{silent_server} has not answered for 4 seconds" in line or f"{silent_server} cannot be reached" in line


@pytest.mark.slow
def test_or_the_run_is_kept_offline(data_dir, tmp_path, closed_port):
    done = train(data_dir, tmp_path, closed_port, "logger.wandb.when_unreachable=offline", WANDB_API_KEY=KEY)
    assert done.returncode == 0, done.stderr
    assert "kept offline, later: wandb sync" in done.stderr
    assert list((tmp_path / "runs").rglob("wandb/offline-run-*/*.wandb"))
    assert list((tmp_path / "runs").rglob("result.json"))


@pytest.mark.slow
def test_no_key_is_one_line_and_no_question(data_dir, tmp_path, helpless_server):
    assert "wandb login" in the_line(train(data_dir, tmp_path, helpless_server[0]))


@pytest.mark.slow
def test_a_server_that_cannot_begin_the_run_is_one_line(data_dir, tmp_path, helpless_server):
    done = train(data_dir, tmp_path, helpless_server[0], "logger.wandb.init_timeout_seconds=3", WANDB_API_KEY=KEY)
    the_line(done)


def test_a_proxy_is_gone_through(monkeypatch, helpless_server):
    wandb = pytest.importorskip("wandb")
    from lra.training.wandb_server import server_problem

    url, asked = helpless_server
    monkeypatch.setenv("http_proxy", url)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    elsewhere = "http://wandb.invalid"
    monkeypatch.setattr(wandb, "setup", lambda settings: SimpleNamespace(settings=wandb.Settings(base_url=elsewhere)))
    assert server_problem() is None
    assert asked == [f"{elsewhere}/"]
    monkeypatch.delenv("http_proxy")
    assert os.environ.get("http_proxy") is None
    assert server_problem() is not None
