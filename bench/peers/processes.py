"""Programs under measurement: started on one core, watched through /proc, stopped by their id.

It must not know what they are.
"""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import time
import urllib.parse

SERVER, GENERATOR = 0, 1  # cores
TICKS = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """What went wrong, in words for the person who started the run."""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Answer:
    def __init__(self, status, body):
        self.status, self.body = status, body

    def json(self):
        return json.loads(self.body)


def ask(url, form=None, send=None, headers=None, method=None):
    """One request with a connection of its own: a GET, or a POST of a form or of JSON."""
    parts = urllib.parse.urlsplit(url)
    body, headers = None, dict(headers or {})
    if form is not None:
        body, headers["Content-Type"] = urllib.parse.urlencode(form), "application/x-www-form-urlencoded"
    if send is not None:
        body, headers["Content-Type"] = json.dumps(send), "application/json"
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    try:
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method or ("GET" if body is None else "POST"), path, body, headers)
        answer = connection.getresponse()
        return Answer(answer.status, answer.read())
    finally:
        connection.close()


def expect(url, **how):
    answer = ask(url, **how)
    if answer.status not in (200, 201, 204):
        raise Failed(f"{url} answered {answer.status}: {answer.body[:300].decode(errors='replace')}")
    return answer


class Process:
    """A program on one core. Its environment is PATH, HOME and what is given: nothing leaks in."""

    def __init__(self, name, command, environment, log, core=SERVER):
        self.name, self.log = name, log
        known = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "JAVA_HOME") if key in os.environ}
        pinned = ["setpriv", "--pdeathsig", "TERM", "taskset", "-c", str(core), *command]
        self.started_at = time.monotonic()
        with open(log, "ab") as out:
            self.child = subprocess.Popen(
                pinned, env=known | environment, cwd=os.path.dirname(log), stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT,
            )

    def wait_until_ready(self, url, limit=180):
        """Returns the seconds from the start to the first 200."""
        while time.monotonic() - self.started_at < limit:
            if self.child.poll() is not None:
                raise Failed(f"{self.name} ended with {self.child.returncode}\n{self.tail()}")
            try:
                if ask(url).status == 200:
                    return time.monotonic() - self.started_at
            except OSError:
                pass
            time.sleep(0.01)
        raise Failed(f"{self.name} was not ready at {url} after {limit} s\n{self.tail()}")

    def tail(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return "".join(log.readlines()[-15:])

    def stop(self):
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGTERM)
            try:
                self.child.wait(30)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()


def tree(root):
    """The process and all that descend from it."""
    children = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        fields = stat_fields(name)
        if fields:
            children.setdefault(int(fields[1]), []).append(int(name))
    found, waiting = [], [root]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def stat_fields(pid):
    """The fields of /proc/PID/stat after the name, which may hold anything."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()
    except OSError:
        return None


def cpu_seconds(root):
    """Processor time of a tree, the children that ended and were waited for included."""
    fields = filter(None, (stat_fields(pid) for pid in tree(root)))
    return sum(sum(map(int, one[11:15])) for one in fields) / TICKS


def memory_bytes(root):
    """What a tree holds in memory, shared pages divided among those who share them."""
    total = 0
    for pid in tree(root):
        try:
            with open(f"/proc/{pid}/smaps_rollup", encoding="utf-8") as rollup:
                total += sum(int(line.split()[1]) * 1024 for line in rollup if line.startswith("Pss:"))
        except OSError:
            pass
    return total


@contextlib.contextmanager
def paused(roots):
    """Their processes stand still meanwhile: no compiler or collector of theirs takes time from what is measured."""
    pids = [pid for root in roots for pid in tree(root)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def postgres_beside():
    """`with-postgres` started this program and, as its other child, the database."""
    parent = os.getppid()
    for pid in tree(parent)[1:]:
        fields = stat_fields(pid)
        with open(f"/proc/{pid}/comm", encoding="utf-8") as comm:
            if comm.read().strip() == "postgres" and int(fields[1]) == parent:
                return pid
    raise Failed("no PostgreSQL beside this program: start it with scripts/peers")


def machine_seconds():
    """Processor time of all cores so far: (busy, stolen)."""
    with open("/proc/stat", encoding="utf-8") as stat:
        user, nice, system, _idle, _wait, irq, soft, steal = map(int, stat.readline().split()[1:9])
    return (user + nice + system + irq + soft) / TICKS, steal / TICKS
