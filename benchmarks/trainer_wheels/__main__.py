"""Compiled wheels of the trainer's environment compared with its torch, by the package index's metadata.

The resolver of `make constraints` reads requirements, and a wheel that was compiled against another torch may state
none: xformers 0.0.35 asks for torch 2.10 or newer, was built with 2.10 and CUDA 12.8, and cannot load its kernels
with torch 2.13. Limits: a wheel that names one torch names the pinned one; a wheel that names none is in
`CHECKED`, where somebody has looked what it was built with. Needs the package index, and some two minutes.
"""

import json
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from benchmarks.harness import Report, run_benchmark

CONSTRAINTS: Final = Path(__file__).resolve().parents[2] / "constraints" / "trainer-linux-cuda.txt"
GLIBC: Final = (5, 12, 17, 24, 26, 27, 28, 31)
"""Minor versions of glibc 2 whose wheels the image can install."""
CHECKED: Final[Mapping[str, str]] = {
    "bitsandbytes": "links no torch; has a library for CUDA 13.0",
    "humming-kernels": "links no torch",
    "instanttensor": "links no torch",
    "tilelang": "links no torch",
    "tokenspeed-mla": "links no torch",
    "torch-c-dlpack-ext": "loads nothing where torch exchanges tensors itself",
    "torchao": "links torch's stable ABI alone, from 2.11 on",
    "torchaudio": "links torch's stable ABI alone",
    "torchcodec": "links torch's stable ABI alone",
    "xgrammar": "links no torch",
}
"""Compiled wheels that name no single torch, and why they work with the pinned one: their libraries were listed with
`nm -D --undefined-only`, and none asks for a C++ symbol of torch."""


def measure(report: Report, _: Namespace) -> None:
    """List each compiled wheel that depends on torch."""
    torch = next(line.split("==")[1] for line in _pins() if line.startswith("torch=="))
    rows = []
    for package in _reported():
        name, version, wanted = package["name"], package["version"], package["torch"]
        verdict = "ok" if wanted == f"=={torch}" else CHECKED.get(name, "MISSED")
        if "==" in wanted and wanted != f"=={torch}":
            verdict = "MISSED"
        miss = f"{name} {version} names torch {wanted or 'not at all'}, and the trainer has {torch}"
        report.limit(verdict != "MISSED", miss)
        rows.append((name, version, wanted or "none", verdict))
    columns = ("package", "version", "torch that it names", "verdict")
    report.table(f"compiled wheels beside torch {torch}", columns, rows, left=columns)


def _pins() -> list[str]:
    lines = CONSTRAINTS.read_text(encoding="utf-8").splitlines()
    # CUDA's own libraries, some of which come as sources, depend on no torch.
    return [
        line.split(";")[0].strip() for line in lines if "==" in line and not line.startswith(("#", "nvidia-", "cuda-"))
    ]


def _reported() -> Iterator[dict[str, str]]:
    """Yield the compiled wheels that link torch or may, from pip's report, which downloads metadata alone."""
    tags = ("linux_x86_64", "manylinux1_x86_64", "manylinux2010_x86_64", "manylinux2014_x86_64")
    platforms = [f"--platform={tag}" for tag in (*tags, *(f"manylinux_2_{minor}_x86_64" for minor in GLIBC))]
    with tempfile.TemporaryDirectory() as folder:
        report, asked = Path(folder) / "report.json", Path(folder) / "asked.txt"
        asked.write_text("\n".join(_pins()), encoding="utf-8")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--ignore-installed"]
        command += ["--only-binary=:all:", "--python-version=3.11", f"--target={folder}/target", *platforms]
        command += [f"--report={report}", f"--requirement={asked}"]
        subprocess.run(command, check=True)
        packages = json.loads(report.read_text(encoding="utf-8"))["install"]
    for package in packages:
        metadata = package["metadata"]
        name = canonicalize_name(metadata["name"])
        wanted = _torch_of(metadata)
        links_torch = wanted is not None or name.startswith("torch")
        if _is_compiled(package) and links_torch and name not in {"torch", "triton"}:
            yield {"name": name, "version": metadata["version"], "torch": wanted or ""}


def _torch_of(metadata: Mapping[str, Any]) -> str | None:
    for line in metadata.get("requires_dist", []):
        requirement = Requirement(line)
        if requirement.name == "torch" and requirement.marker is None:
            return str(requirement.specifier)
    return None


def _is_compiled(package: Mapping[str, Any]) -> bool:
    file = package["download_info"]["url"].rsplit("/", 1)[-1].replace("%2B", "+")
    return all(tag.platform != "any" for tag in parse_wheel_filename(file)[3])


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure))
