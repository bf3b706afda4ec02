"""Measure Signet beside other authorization servers; `scripts/peers` installs what this needs and starts it.

All servers are up at the same time, on core 0; only one of them is asked at a time, from core 1: single requests by
`assay hit`, whole flows by `assay run` with the plans of bench/plans/peers. Every round asks every server everything, and
every other round in the opposite order.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.parse
from pathlib import Path

import document
import targets
from processes import GENERATOR, SERVER, Failed, cpu_seconds, machine_seconds, memory_bytes, paused, postgres_beside

ORDER = [
    "client credentials, opaque",
    "client credentials, JWT RS256",
    "client credentials, JWT ES256",
    "introspection, opaque",
    "introspection, JWT RS256",
    "get one client",
    "discovery",
    "JWKS",
]
PLANS = ["client-credentials", "introspection", "code-flow", "clients"]
REPOSITORY = Path(__file__).resolve().parents[2]


def arguments():
    parser = argparse.ArgumentParser(description="Measure Signet beside other authorization servers")
    parser.add_argument("--rounds", type=int, default=5, help="repeats of every measurement (5)")
    parser.add_argument("--seconds", type=float, default=2.5, help="length of a measurement (2.5)")
    parser.add_argument("--concurrency", type=int, default=50, help="requests on their way at a time (50)")
    parser.add_argument("--warm", type=float, default=1, help="seconds of load for each operation beforehand (1)")
    parser.add_argument("--warm-java", type=float, default=12, help="the same for Keycloak, which compiles as it runs (12)")
    parser.add_argument("--tokens", type=int, default=1000, help="different tokens to introspect (1000)")
    parser.add_argument("--plan-rounds", type=int, default=3, help="repeats of every plan (3)")
    parser.add_argument("--plan-seconds", type=float, default=8, help="length of a plan after its warm-up (8)")
    parser.add_argument("--results", type=Path, default=Path("bench/results"), help="where raw results go")
    parser.add_argument("--document", type=Path, default=Path("docs/results.md"), help="the document to write")
    parser.add_argument("--hold", action="store_true", help="measure nothing: start the servers, say where, until Ctrl-C")
    parser.add_argument("--given", action="store_true", help="the programs were not built for this run")
    parser.add_argument("--programs", type=Path, required=True, help="directory of signet and assay")
    parser.add_argument("--home", type=Path, required=True, help="directory of the installed peers")
    parser.add_argument("--node", type=Path, required=True, help="the Node.js that runs oidc-provider")
    parser.add_argument("--keycloak", required=True, help="version of the installed Keycloak")
    return parser.parse_args()


def read(path):
    return Path(path).read_text(encoding="utf-8", errors="replace")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def environment(options):
    model = re.search(r"^model name\s*:\s*(.*)$", read("/proc/cpuinfo"), re.M)
    memory = re.search(r"^MemTotal:\s*(\d+)", read("/proc/meminfo"), re.M)
    return {
        "measured_at": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "cpu": model.group(1) if model else "unknown",
        "cores": os.cpu_count(),
        "memory_gib": round(int(memory.group(1)) / 2**20) if memory else None,
        "kernel": read("/proc/sys/kernel/osrelease").strip(),
        "server": provenance(options),
        "load_average": " ".join(read("/proc/loadavg").split()[:3]),
        "postgres": output(os.environ["SIGNET_TEST_PG_BIN"] + "/postgres", "--version"),
        "assay": output(str(options.programs / "assay"), "--version"),
    }


def provenance(options):
    """Which Signet was measured: the last commit that changed its sources, or the file that was given."""
    sources = ["--", "crates/oauth/src", "crates/guard/src", "crates/server/src"]
    dirty = "-dirty" if output("git", "status", "--porcelain", *sources) else ""
    commit = output("git", "log", "-1", "--format=%h", *sources) + dirty
    if not options.given:
        return f"built from commit {commit}"
    program = options.programs / "signet"
    built = datetime.datetime.fromtimestamp(program.stat().st_mtime, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")
    digest = hashlib.sha256(program.read_bytes()).hexdigest()[:16]
    return f"not built by this run but given, made {built}, SHA-256 {digest}…; the sources are at commit {commit}"


def slug(about):
    """`2026-01-31-2x-intel-xeon`: the day, and the machine without its name."""
    words = re.split(r"[^a-z0-9]+", re.sub(r"\((r|tm)\)", " ", about["cpu"].lower()))
    model = [word for word in words if word and word not in ("cpu", "processor")][:4]
    return f"{about['measured_at'][:10]}-{about['cores']}x-{'-'.join(model)}"


class Run:
    """What the targets need to know of this run."""

    def __init__(self, options, scratch):
        self.scratch, self.programs, self.home = scratch, options.programs.resolve(), options.home.resolve()
        self.node, self.keycloak, self.tokens = options.node, options.keycloak, options.tokens
        self.options, self.postgres = options, postgres_beside()

    def database(self, name):
        """Makes an empty database; returns its URL."""
        url = urllib.parse.urlsplit(os.environ["SIGNET_TEST_POSTGRES"])
        secret = os.environ | {"PGPASSWORD": url.password}
        server = ["-h", url.hostname, "-p", str(url.port), "-U", url.username]
        subprocess.run(["psql", "-qX", *server, "-d", "postgres", "-c", f"CREATE DATABASE {name}"], env=secret, check=True)
        return url._replace(path=f"/{name}").geturl()

    def hit(self, operation, seconds):
        command = ["taskset", "-c", str(GENERATOR), str(self.programs / "assay"), "hit", "--quiet", "--json"]
        command += ["-c", str(self.options.concurrency), "-z", f"{round(seconds * 1000)}ms"]
        for name, value in operation.headers().items():
            command += ["-H", f"{name}: {value}"]
        if operation.lines:
            command += ["--each", str(operation.lines)]
        elif operation.form:
            command += ["-d", urllib.parse.urlencode(operation.form)]
        done = subprocess.run([*command, operation.url], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"assay hit {operation.url}: {done.stderr.strip()[-500:]}")
        return json.loads(done.stdout)


    def assay(self, target, *arguments):
        command = ["taskset", "-c", str(GENERATOR), str(self.programs / "assay"), *map(str, arguments)]
        for name, value in target.variables().items():
            command += ["--target-set", f"{name}={value}"]
        secret = os.environ | target.secrets()
        done = subprocess.run(command, cwd=target.directory, env=secret, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}: {done.stdout.strip()[-1500:]}\n{done.stderr.strip()[-500:]}")

    def make_clients(self, target):
        """Ten clients and fifty users, by the interface that its file in bench/targets describes."""
        profile = REPOSITORY / "bench/targets" / f"{target.profile}.toml"
        users = ["--users", 50] if "code-flow" in target.plans else []
        self.assay(target, "prepare", profile, "--clients", 10, *users, "--output", target.directory)

    def play(self, target, plan):
        """A plan, the same for every server; returns its figures."""
        path = REPOSITORY / "bench/plans/peers" / f"{plan}.toml"
        runs = target.directory / "runs"
        shutil.rmtree(runs, ignore_errors=True)
        told = ["--target", REPOSITORY / "bench/targets" / f"{target.profile}.toml", "--runs", runs, "--quiet"]
        written = tomllib.loads(read(path))
        for feed, file in (("clients", "clients.csv"), ("people", "users.csv")):
            if feed in written.get("feeds", {}):
                told += ["--set", f"feeds.{feed}.file={target.directory / file}"]
        seconds = float(written["warmup"].removesuffix(" s")) + self.options.plan_seconds
        self.assay(target, "run", path, *told, "--duration", f"{round(seconds * 1000)}ms", "--keep", "histograms")
        (made,) = runs.iterdir()
        return json.loads(read(made / "summary.json"))


def check(answer, operation, length):
    """A run with anything but right answers is no figure."""
    if answer["error_count"] or answer["dropped"] or set(answer["statuses"]) != {"200"}:
        raise Failed(f"{operation.url}: {answer['statuses']}, errors {answer['errors']}, dropped {answer['dropped']}")
    mean = answer["body_bytes"] / answer["responses"]
    if not 0.9 <= mean / length <= 1.1:
        raise Failed(f"{operation.url}: answers of {mean:.0f} bytes, a right one has {length}")


def measure(run, target, operation, length):
    def clocks():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        now, (busy, stolen) = time.monotonic(), machine_seconds()
        server, database = cpu_seconds(target.process.child.pid), cpu_seconds(run.postgres)
        return now, busy, stolen, server, database, usage.ru_utime + usage.ru_stime

    options = run.options
    before = clocks()
    answer = run.hit(operation, options.seconds)
    wall, busy, stolen, server, database, generator = (b - a for a, b in zip(before, clocks()))
    check(answer, operation, length)
    answer["beside"] = {
        "wall_seconds": wall,
        "server_cpu_seconds": server,
        "postgres_cpu_seconds": database if target.store == "PostgreSQL" else 0.0,
        "generator_cpu_seconds": generator,
        "strangers_cores": max(0.0, busy - server - database - generator) / wall,
        "stolen_cores": stolen / wall,
    }
    return answer


def plans(run, servers, raw):
    """Every plan, played against every server that has what it asks for."""
    for number in range(run.options.plan_rounds):
        for plan in PLANS:
            able = [target for target in servers if plan in target.plans]
            for target in able if number % 2 == 0 else reversed(able):
                others = [other.process.child.pid for other in servers if other is not target]
                with paused(others):
                    before = cpu_seconds(target.process.child.pid) + (cpu_seconds(run.postgres) if target.store == "PostgreSQL" else 0)
                    summary = run.play(target, plan)
                    after = cpu_seconds(target.process.child.pid) + (cpu_seconds(run.postgres) if target.store == "PostgreSQL" else 0)
                summary |= {"round": number, "plan": plan, "target": target.name, "cpu_seconds": after - before}
                with open(raw / f"plan-{plan}.jsonl", "a", encoding="utf-8") as file:
                    file.write(json.dumps(summary, separators=(",", ":")) + "\n")
        print(f"plans, round {number + 1} of {run.options.plan_rounds}: done", flush=True)


def rounds(run, servers, raw):
    lengths = {(s.name, name): s.operations[name].verify() for s in servers for name in s.operations}
    for target in servers:
        seconds = run.options.warm_java if isinstance(target, targets.Keycloak) else run.options.warm
        for name in ORDER:
            if name in target.operations and seconds:
                run.hit(target.operations[name], seconds)
        print(f"{target.name}: warm", flush=True)
    for number in range(run.options.rounds):
        for name in ORDER:
            able = [target for target in servers if name in target.operations]
            for target in able if number % 2 == 0 else reversed(able):
                others = [other.process.child.pid for other in servers if other is not target]
                with paused(others):
                    answer = measure(run, target, target.operations[name], lengths[target.name, name])
                answer |= {"round": number, "operation": name, "target": target.name}
                path = raw / f"{re.sub('[^a-z0-9]+', '-', name.lower())}.jsonl"
                with open(path, "a", encoding="utf-8") as file:
                    file.write(json.dumps(answer, separators=(",", ":")) + "\n")
        print(f"round {number + 1} of {run.options.rounds}: done", flush=True)


def launch(run, servers):
    for kind in targets.ALL:
        target = kind(run)
        servers.append(target)
        target.launch()
        if not run.options.hold:
            target.stop()  # the second start finds its schema, as every later one does
            target.launch()
        target.idle = memory_bytes(target.process.child.pid)
        print(f"{target.name}: ready in {target.starts[-1]:.2f} s", flush=True)


def hold(options, scratch):
    """For plans driven by hand: the files of bench/targets with `--set base=…`."""
    servers = []
    try:
        launch(Run(options, scratch), servers)
        for target in servers:
            admin = f", administration {target.admin}" if isinstance(target, targets.Signet) else ""
            print(f"{target.name}: issuer {target.issuer}{admin}, its files in {target.directory}", flush=True)
        signal.pause()
    finally:
        for target in servers:
            target.stop()


def measured(options, scratch):
    run = Run(options, scratch)
    about = environment(options)
    into = options.results / slug(about) / "peers"
    shutil.rmtree(into, ignore_errors=True)
    (into / "raw").mkdir(parents=True)
    servers = []
    try:
        launch(run, servers)
        for target in servers:
            target.prepare()
            if target.plans:
                run.make_clients(target)
        rounds(run, servers, into / "raw")
        plans(run, servers, into / "raw")
        described = [
            {
                "name": target.name, "version": target.version, "store": target.store, "terms": target.terms,
                "starts_seconds": target.starts, "idle_bytes": target.idle,
                "loaded_bytes": memory_bytes(target.process.child.pid), "operations": list(target.operations),
            }
            for target in servers
        ]
    finally:
        for target in servers:
            target.stop()
    plan = {key: getattr(options, key) for key in ("rounds", "seconds", "concurrency", "warm", "warm_java", "tokens", "plan_rounds", "plan_seconds")}
    plan |= {"order": ORDER, "plans": PLANS, "server_core": SERVER, "generator_core": GENERATOR, "others_paused": True}
    about["load_average_at_the_end"] = " ".join(read("/proc/loadavg").split()[:3])
    for name, content in (("environment", about), ("plan", plan), ("targets", described)):
        (into / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return into


def main():
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is stopped
    with tempfile.TemporaryDirectory(prefix="signet-peers.") as scratch:
        if options.hold:
            hold(options, Path(scratch))
            return
        into = measured(options, Path(scratch))
    document.write(into, options.document)
    print(f"kept in {into}, written to {options.document}")


if __name__ == "__main__":
    try:
        main()
    except (Failed, OSError, subprocess.CalledProcessError) as failed:
        sys.exit(f"peers: {failed}")
    except KeyboardInterrupt:
        sys.exit(130)
