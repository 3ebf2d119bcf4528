"""Processes that measure when told: ours and one a peer, each stopped while another is measured."""

import json
import os
import select
import signal
import subprocess
import tempfile
from dataclasses import dataclass

LONGEST = 400  # seconds for one answer: a first compilation may take a minute or two
# Settings for old numpy builds that would slow a peer.
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


@dataclass(frozen=True)
class Program:
    command: tuple     # empty: absent
    absent: str = ""   # why, and how to get it


class Worker:
    """A process that answers JSON lines. It is stopped (SIGSTOP) whenever it is not asked, so that
    spinning pools of other peers take nothing from the one being measured."""

    def __init__(self, program, settings):
        self.missing = program.absent if not program.command else None
        self.process = None
        if self.missing:
            return
        self.errors = tempfile.TemporaryFile("w+")
        environment = {name: value for name, value in os.environ.items() if name not in UNSET} | settings
        try:
            self.process = subprocess.Popen(program.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=self.errors, text=True, env=environment)
        except OSError as error:
            self.missing = str(error)

    def ask(self, **request):
        """The answer, or {"missing": why} from then on if the process ended or did not answer."""
        if self.missing:
            return {"missing": self.missing}
        try:
            self.process.send_signal(signal.SIGCONT)
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], LONGEST)
            line = self.process.stdout.readline() if ready else ""
            if line:
                self.process.send_signal(signal.SIGSTOP)
                os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                return json.loads(line)
            self.fail("no answer" if not ready else "the process ended")
        except (OSError, ValueError) as error:
            self.fail(str(error))
        return {"missing": self.missing}

    def fail(self, why):
        self.end()
        self.errors.seek(0)
        last = [line for line in self.errors.read().splitlines() if line.strip()][-1:]
        self.missing = ": ".join([why] + last)

    def end(self):
        if self.process is not None and self.process.poll() is None:
            self.process.kill()  # ends a stopped process too
            self.process.wait()

    def close(self):
        self.end()
        if self.process is not None:
            for file in (self.process.stdin, self.process.stdout, self.errors):
                file.close()


class Workers:
    """Workers by name, started at their first use with these environment variables beside ours."""

    def __init__(self, programs, settings=None):
        self.programs, self.settings, self.running = programs, settings or {}, {}

    def __getitem__(self, name):
        if name not in self.running:
            self.running[name] = Worker(self.programs[name], self.settings)
        return self.running[name]

    def restart(self, names):
        for name in names:
            if name in self.running:
                self.running.pop(name).close()

    def restart_failed(self):
        self.restart([name for name, worker in self.running.items() if worker.process and worker.missing])

    def close(self):
        self.restart(list(self.running))

    def versions(self):
        found = {}
        for name in self.running:
            found |= self.running[name].ask(do="describe").get("versions", {})
        return found
