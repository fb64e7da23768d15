"""Recordings that the bench makes and what genba itself says of them. Never: parses a recording's content."""

import json
import subprocess
from argparse import Namespace
from pathlib import Path


def made(options: Namespace, recording: Path, rate: int, *program: str) -> Path:
    flags = ["--quiet", "--force", "--rate", str(rate), "-o", str(recording)]
    subprocess.run([options.genba, "run", *flags, options.python, *program], check=True, stdout=subprocess.DEVNULL)
    return recording


def processes(genba: str, recording: Path) -> list[dict]:
    command = [genba, "report", str(recording), "--format", "json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["processes"]


def handler_ns(exports: list[dict]) -> float | None:
    """Mean time of one run of the handler."""
    ran = sum(process["handler_runs"] for process in exports)
    return sum(process["handler_ns"] for process in exports) / ran if ran else None


def exported(genba: str, recording: Path) -> list[dict]:
    return profile(genba, recording)["processes"]


def meta(genba: str, recording: Path) -> dict:
    return profile(genba, recording)["meta"]


def counts(genba: str, recording: Path) -> tuple[int, int]:
    """Samples, and distinct stacks among them."""
    samples = profile(genba, recording)["samples"]
    return sum(samples["samples"]), len(set(samples["node"]))


def profile(genba: str, recording: Path) -> dict:
    command = [genba, "export", str(recording), "--to", "json", "-o", "-"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
