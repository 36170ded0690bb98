"""A stand-in for W&B's server on this machine: it keeps what a run sends, line by line, as `wandb sync` sends it."""

import gzip
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HISTORY = "wandb-history.jsonl"
OPERATION = re.compile(r"(?:query|mutation)\s+(\w+)")
PROJECT = {"id": "project", "name": "lra", "entity": {"id": "entity", "name": "nobody"}}


@dataclass
class Recorder:
    """What the server has been sent.

    Attributes:
        url: its address.
        lines: of each file of a run's stream, the line at each number; a later one replaces an earlier one.
        offsets: the line number at which each part of the history began, in the order of their arrival.
        asked: the GraphQL operations, in the order of their arrival.
        runs: names of the runs that were begun.
    """

    url: str = ""
    lines: dict[str, dict[int, str]] = field(default_factory=dict)
    offsets: list[int] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)

    @property
    def history(self) -> list[dict[str, Any]]:
        """The rows of the history in the order of their lines, which are numbered without a gap."""
        lines = self.lines.get(HISTORY, {})
        assert sorted(lines) == list(range(len(lines)))
        return [json.loads(lines[number]) for number in sorted(lines)]

    def take(self, stream: dict[str, Any]) -> None:
        """Keep the lines of a request to a run's `file_stream`."""
        for name, part in (stream.get("files") or {}).items():
            kept = self.lines.setdefault(name, {})
            kept.update(enumerate(part["content"], start=part["offset"]))
            if name == HISTORY:
                self.offsets.append(part["offset"])

    def answer(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        """Answer a GraphQL request with the state of the run that it names."""
        operation = OPERATION.search(query)
        name = operation[1] if operation else ""
        self.asked.append(name)
        if name == "UpsertBucket":
            run, inserted = variables["name"], variables["name"] not in self.runs
            self.runs += [run] if inserted else []
            return {"upsertBucket": {"bucket": self._bucket(run), "inserted": inserted}}
        if name == "RunResumeStatus":
            run = variables["name"]
            return {"model": {**PROJECT, "bucket": self._bucket(run) if run in self.runs else None}}
        if name == "Viewer":
            viewer = {"id": "viewer", "entity": "nobody", "username": "nobody", "email": "", "flags": "{}"}
            return {"viewer": {**viewer, "teams": {"edges": []}}}
        if name == "CreateRunFiles":
            files = [{"name": file, "uploadUrl": f"{self.url}/storage"} for file in variables["files"]]
            return {"createRunFiles": {"runID": "bucket", "uploadHeaders": [], "files": files}}
        if name == "CreateArtifact":  # as one that the server has already, whose files it does not ask for
            sequence = {"id": "sequence", "latestArtifact": None}
            artifact = {"id": "artifact", "state": "COMMITTED", "artifactSequence": sequence}
            return {"createArtifact": {"artifact": artifact}}
        return {"serverInfo": {"features": [], "cliVersionInfo": {}, "latestLocalVersionInfo": None}}

    def _bucket(self, run: str) -> dict[str, Any]:
        counts = {
            f"{kind}LineCount": len(self.lines.get(file, {}))
            for kind, file in (("history", HISTORY), ("events", "wandb-events.jsonl"), ("log", "output.log"))
        }
        history = self.lines.get(HISTORY, {})
        tail = [history[max(history)]] if history else []
        empty = {
            "config": "{}",
            "summaryMetrics": "{}",
            "eventsTail": "[]",
            "tags": [],
            "notes": "",
            "wandbConfig": "{}",
        }
        return {
            **{"id": "bucket", "name": run, "displayName": run, "description": "", "sweepName": None},
            **{"project": PROJECT, "historyTail": json.dumps(tail), **empty, **counts},
        }


@contextmanager
def recording() -> Iterator[Recorder]:
    """Serve a recorder at a free port of 127.0.0.1."""
    recorder = Recorder()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._reply({})

        def do_PUT(self) -> None:
            self._body()
            self._reply({})

        def do_POST(self) -> None:
            body = json.loads(self._body() or b"{}")
            if self.path.endswith("/graphql"):
                self._reply({"data": recorder.answer(body["query"], body.get("variables") or {})})
                return
            if self.path.endswith("/file_stream"):
                recorder.take(body)
            self._reply({})

        def _body(self) -> bytes:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            return gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body

        def _reply(self, value: dict[str, Any]) -> None:
            content = json.dumps(value).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Say nothing: W&B opens connections ahead, and drops them."""

    server = Server(("127.0.0.1", 0), Handler)
    recorder.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield recorder
    finally:
        server.shutdown()
        server.server_close()
