"""Write the page of the shipped run's completions into `build/demo`, and its recording into `docs`."""

from pathlib import Path
from typing import Final

from tasks.demo.recording import LOG_FILE, draw
from tasks.evaluate.completions.page import read_example, write_page

PAGE_FOLDER: Final = Path("build/demo")
RECORDING_FILE: Final = Path("docs/demo.svg")

if __name__ == "__main__":
    print(write_page(read_example(), PAGE_FOLDER))
    RECORDING_FILE.parent.mkdir(parents=True, exist_ok=True)
    RECORDING_FILE.write_text(draw(LOG_FILE.read_text(encoding="utf-8")), encoding="utf-8")
    print(RECORDING_FILE)
