"""Processes find one another, wait, and say which is missing."""

import os
import subprocess
import sys

import pytest

from bertcourse_lab.pretraining import processes
from bertcourse_lab.pretraining.processes import joined_processes


def test_a_missing_process_is_named(monkeypatch):
    for name, value in dict(
        RANK="0", WORLD_SIZE="2", LOCAL_RANK="0", MASTER_ADDR="127.0.0.1", MASTER_PORT="29517"
    ).items():
        monkeypatch.setenv(name, value)
    with (
        pytest.raises(
            ConnectionError, match="expected 2 processes, of which this is number 0; not all of them came within 1 s"
        ),
        joined_processes(timeout_seconds=1),
    ):
        pass


@pytest.mark.slow
@pytest.mark.weekly
def test_processes_wait_long_for_the_one_that_tokenizes(tmp_path):
    script = tmp_path / "wait.py"
    script.write_text(
        "import os, pathlib, sys, time\n"
        "from bertcourse_lab.pretraining.processes import joined_processes\n"
        "pathlib.Path(sys.argv[1], 'here-' + os.environ['RANK']).touch()\n"
        "while len(list(pathlib.Path(sys.argv[1]).glob('here-*'))) < 2:  # one may take long to import torch\n"
        "    time.sleep(0.05)\n"
        "with joined_processes(timeout_seconds=5) as processes:\n"
        "    time.sleep(8 if processes.is_main else 0)\n"
        "    processes.wait(patiently=True)\n"
        "    assert processes.total(1.0) == [2.0]\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    command.append(str(tmp_path))
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=900, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_process_that_is_lost_on_the_way_is_an_error_of_its_own(monkeypatch):
    for name, value in dict(RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT="1").items():
        monkeypatch.setenv(name, value)
    for name in ("init_process_group", "barrier", "new_group", "destroy_process_group"):
        monkeypatch.setattr(processes.distributed, name, lambda *arguments, **others: None)
    with pytest.raises(ConnectionError, match="process 0 of 2 lost another one .* with --resume"):
        with joined_processes():
            raise RuntimeError("[gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:19866")
    with pytest.raises(RuntimeError, match="mat1 and mat2"), joined_processes():
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")


def test_a_launcher_that_says_too_little_is_named(monkeypatch):
    for name in ("RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("WORLD_SIZE", "1")
    with pytest.raises(ConnectionError, match="RANK, MASTER_ADDR, MASTER_PORT is not.*torchrun"), joined_processes():
        pass
