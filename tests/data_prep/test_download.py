"""Downloads from a server on this machine: checked, gone on with, refused."""

import functools
import hashlib
import http.server
import socket
import threading
import time

import pytest

from data_prep import download as download_module
from data_prep.download import Archive, download
from lra.types import UserError

CONTENT = bytes(range(256)) * 5000


class Handler(http.server.SimpleHTTPRequestHandler):
    """Answers a Range request, as the archives' servers do."""

    def do_GET(self):
        asked = self.headers.get("Range")
        start = int(asked.split("=")[1].rstrip("-")) if asked else 0
        self.server.asked.append(start)
        self.send_response(206 if asked else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        self.wfile.write(CONTENT[start : self.server.ends_at])

    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(tmp_path)))
    made.asked, made.ends_at = [], None
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def archive(server, **changes):
    said = {"size_bytes": len(CONTENT), "sha256": hashlib.sha256(CONTENT).hexdigest(), **changes}
    return Archive(name="x.tar.gz", url=f"http://127.0.0.1:{server.server_address[1]}/x.tar.gz", **said)


def test_an_archive_is_fetched_once(server, tmp_path):
    ticks = []
    for _ in range(2):
        path = download(archive(server), tmp_path / "sources", lambda done, total: ticks.append((done, total)))
        assert path.read_bytes() == CONTENT
    assert server.asked == [0]
    assert ticks[-1] == (1, 1), "megabytes"


def test_what_came_before_a_connection_ended_is_kept(server, tmp_path):
    server.ends_at = 300_000
    with pytest.raises(UserError, match="300,000 bytes are kept, the same command goes on"):
        download(archive(server), tmp_path, lambda done, total: None)
    server.ends_at = None
    assert download(archive(server), tmp_path, lambda done, total: None).read_bytes() == CONTENT
    assert server.asked == [0, 300_000]


def test_an_interrupted_download_goes_on(server, tmp_path):
    (tmp_path / "x.tar.gz.part").write_bytes(CONTENT[:1000])
    assert download(archive(server), tmp_path, lambda done, total: None).read_bytes() == CONTENT
    assert server.asked == [1000]


def test_a_server_that_does_not_speak_http_is_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer():
            taken, _ = listening.accept()
            with taken:
                taken.recv(1000)
                taken.sendall(b"no HTTP at all\r\n")

        threading.Thread(target=answer, daemon=True).start()
        said = Archive(
            name="x.tar.gz", url=f"http://127.0.0.1:{listening.getsockname()[1]}/x", size_bytes=9, sha256="0"
        )
        with pytest.raises(UserError, match=r"cannot be fetched from .* name it: source=/path/to/x\.tar\.gz"):
            download(said, tmp_path / "sources", lambda done, total: None)


@pytest.mark.parametrize("changes", [{"sha256": "0" * 64}, {"size_bytes": len(CONTENT) + 1}])
def test_another_file_than_was_published_is_refused_and_deleted(server, tmp_path, changes):
    with pytest.raises(UserError, match="is not the file that was published"):
        download(archive(server, **changes), tmp_path, lambda done, total: None)
    assert not list(tmp_path.glob("x*"))


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/x.tar.gz", "http://no-such-host.invalid/x.tar.gz"])
def test_without_a_network_it_soon_says_what_to_do(tmp_path, monkeypatch, url):
    """Also where the look-up of a name is not answered."""
    assert download_module.ANSWER_SECONDS <= 4
    monkeypatch.setattr(download_module, "ANSWER_SECONDS", 0.5)
    begun = time.monotonic()
    wanted = Archive(name="x.tar.gz", url=url, size_bytes=84_000_000, sha256="0" * 64)
    with pytest.raises(UserError, match=rf"x.tar.gz \(84 MB\).*Put it into {tmp_path}.*source="):
        download(wanted, tmp_path, lambda done, total: None)
    assert time.monotonic() - begun < 30
