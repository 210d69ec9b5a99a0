"""Faults in lines of the recorder, inside the Python of a real server's models.

A ``.pth`` file imports this module before the recorder. It reads the number of a line
from the file that BLSNB_TEST_FAULT names, and raises once when the recorder comes to
it. At 0 it only observes: the lines are written beside the file when the process ends.
"""

import atexit
import os
import sys
import threading

RECORDER = "blsnb_recorder.py"


class InjectedFault(Exception):
    """A fault inside the recorder."""


class LineFaults:
    """Observes the lines of the recorder in this process.

    Parameters
    ----------
    path
        The file with the number of the line.
    """

    def __init__(self, path):
        with open(path) as file:
            self.fault_at = int(file.read())
        self.path = path
        self.lines = set()
        self.happened = False

    def trace(self, frame, event, arg):
        """Observe the frames of the recorder."""
        return self.line if frame.f_code.co_filename.endswith(RECORDER) else None

    def line(self, frame, event, arg):
        """Note a line, and raise the fault at its line once."""
        if event == "line":
            self.lines.add(frame.f_lineno)
            if frame.f_lineno == self.fault_at and not self.happened:
                self.happened = True
                with open(self.path + ".happened", "w") as file:
                    file.write(str(self.fault_at))
                raise InjectedFault(f"line {self.fault_at}")
        return self.line

    def save(self):
        """Write the observed lines into a file of this process's model."""
        with open("/proc/self/cmdline") as file:
            model = file.read().split("\0")[1].split("/")[-3]
        with open(f"{self.path}.{model}", "w") as file:
            file.write(" ".join(map(str, sorted(self.lines))))


def start():
    """Observe the main thread and all threads to come."""
    faults = LineFaults(os.environ["BLSNB_TEST_FAULT"])
    if not faults.fault_at:
        atexit.register(faults.save)
    threading.settrace(faults.trace)
    sys.settrace(faults.trace)
