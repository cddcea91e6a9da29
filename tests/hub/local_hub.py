"""A small Hugging Face hub: enough of its HTTP API to push models to it, and to load them.

It has what huggingface_hub asks for when files are small enough to be sent within a commit.
"""

import hashlib
import json
from base64 import b64decode
from http.server import BaseHTTPRequestHandler

from benchmarks._served import running

COMMIT = "0123456789" * 4


class Hub(BaseHTTPRequestHandler):
    """Answers requests from the files that were pushed."""

    files: dict[str, bytes]

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        address = f"http://{self.headers['Host']}"
        if self.path == "/api/repos/create":
            self.answer({"url": f"{address}/me/{json.loads(body)['name']}"})
        elif self.path == "/api/validate-yaml":
            self.answer({})
        elif "/preupload/" in self.path:
            sent = (file["path"] for file in json.loads(body)["files"])
            regular = {"uploadMode": "regular", "shouldIgnore": False}
            self.answer({"files": [{"path": path, **regular} for path in sent]})
        elif "/commit/" in self.path:
            for line in map(json.loads, body.splitlines()):
                if line["key"] == "file":
                    self.files[line["value"]["path"]] = b64decode(line["value"]["content"])
            url = f"{address}/me/model/commit/{COMMIT}"
            self.answer({"success": True, "commitOid": COMMIT, "commitUrl": url})
        else:
            self.send_error(404)

    def do_GET(self):
        repo, _, name = self.path.partition("/resolve/main/")
        if name not in self.files:
            repo, _, name = self.path.partition(f"/resolve/{COMMIT}/")
        if repo == "/me/model" and name in self.files:
            self.answer(self.files[name])
        elif self.path.startswith("/api/models/me/model"):
            names = [{"rfilename": name} for name in self.files]
            self.answer({"id": "me/model", "sha": COMMIT, "siblings": names})
        else:
            self.send_error(404)

    do_HEAD = do_GET  # noqa: N815

    def answer(self, content):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("ETag", f'"{hashlib.sha1(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_):
        """Say nothing."""


def local_hub(files):
    """Run a hub that keeps its files, by name, in a dict; yield its address."""
    return running(type("Own", (Hub,), {"files": files}))
