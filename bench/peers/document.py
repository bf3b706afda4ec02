"""Write docs/results.md from what a run left behind: `document.py DIRECTORY DOCUMENT`. It measures nothing."""

import json
import statistics
import sys
from pathlib import Path

NOISY = 0.05  # of a core in strangers' hands: a figure deserves a warning

METHOD = """\
- **Same core, same generator.** Every server has core {server_core}, with its PostgreSQL where it has one; `assay hit` has
  core {generator_core}. {concurrency} connections, plain HTTP/1.1 on loopback, a closed loop of {seconds:g} s each
  time. What more cores bring is another question.
- **In rounds.** All servers are up, one is asked at a time{paused}. Each of the {rounds} rounds asks every server everything, every
  other round in the opposite order. A cell has the median of the rounds, and the lowest and highest. Ratios are made
  round by round: median, lowest and highest of the ratios.
- **Warm.** Before the first round every operation is driven for {warm:g} s, with Keycloak for {warm_java:g} s, since
  Java compiles what it sees often.
- **Right answers only.** Before the run one answer of each kind is examined (algorithm and key size of the token, `active`
  of the introspection, the right client); in the run every answer must be a 200 of that length. One error, and there
  is no figure.
- **Introspection** cycles through {tokens} different tokens; the caller authenticates by HTTP Basic on the public endpoint.
- **Processor time** is that of the server's processes, and of PostgreSQL for those that use it, divided by the answers."""


def load(directory):
    def of(name):
        return json.loads((directory / f"{name}.json").read_text(encoding="utf-8"))

    runs, played = {}, {}
    for file in sorted((directory / "raw").glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            if "plan" in one and "rows" in one:
                played.setdefault((one["plan"], one["target"]), []).append(one)
            else:
                runs.setdefault((one["operation"], one["target"]), []).append(one)
    return of("environment"), of("plan"), of("targets"), runs, played


def number(value):
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(values, mark=""):
    low, high = number(min(values)), number(max(values))
    return f"**{number(statistics.median(values))}**{mark} ({low} – {high})"


def table(head, rows):
    align = ["---"] + ["--:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, align, *rows])


def rates(runs, key):
    return [one["requests_per_second"] for one in runs.get(key, [])]


def whole(one):
    """The row of a plan's flow as a whole."""
    (row,) = [row for row in one["rows"] if row["unit"] == "flow"]
    return row


def flow_cell(cell):
    rates = spread([whole(one)["per_second"] for one in cell])
    median = statistics.median(whole(one)["response"]["p50"] for one in cell) * 1000
    tail = statistics.median(whole(one)["response"]["p99"] for one in cell) * 1000
    cpu = statistics.median(one["cpu_seconds"] / max(1, everything(one)) for one in cell) * 1e6
    return f"{rates}; {median:.1f} / {tail:.1f} ms; {number(cpu)} µs"


def everything(one):
    """Passes of the run, the warm-up included: the processor time is that of both."""
    warm = [row["count"] for row in (one.get("warmup") or {}).get("rows", []) if row["unit"] == "flow"]
    return whole(one)["count"] + sum(warm)


def plan_rows(plan, targets, played):
    for name in plan.get("plans", []):
        cells = [played.get((name, target["name"])) for target in targets]
        link = f"[{name}](../bench/plans/peers/{name}.toml)"
        yield [link] + [flow_cell(cell) if cell else "–" for cell in cells]


def limited(runs):
    """Whether the generator's core was full."""
    return any(one["generator"]["is_limit"] for one in runs)


def rate(cell):
    return spread([one["requests_per_second"] for one in cell], " †" if limited(cell) else "")


def rate_rows(plan, targets, runs):
    for operation in plan["order"]:
        keys = [(operation, target["name"]) for target in targets]
        yield [operation] + [rate(runs[key]) if key in runs else "–" for key in keys]


def cpu_rows(plan, targets, runs):
    def of(one):
        beside = one["beside"]
        return (beside["server_cpu_seconds"] + beside["postgres_cpu_seconds"]) / one["responses"] * 1e6

    for operation in plan["order"]:
        cells = [runs.get((operation, target["name"])) for target in targets]
        yield [operation] + [spread([of(one) for one in cell]) if cell else "–" for cell in cells]


def ratio(runs, operation, ours, theirs):
    above, below = rates(runs, (operation, ours)), rates(runs, (operation, theirs))
    mark = " †" if limited(runs.get((operation, ours), [])) else ""
    return spread([a / b for a, b in zip(above, below)], mark) if above and below else "–"


def ratio_rows(plan, targets, runs):
    peers = [target["name"] for target in targets if not target["name"].startswith("Signet")]
    for operation in plan["order"]:
        able = [peer for peer in peers if (operation, peer) in runs]
        best = max(able, key=lambda peer: statistics.median(rates(runs, (operation, peer))))
        yield [
            operation,
            ratio(runs, operation, "Signet, memory", "oidc-provider"),
            ratio(runs, operation, "Signet, PostgreSQL", "Keycloak"),
            f"{ratio(runs, operation, 'Signet, PostgreSQL', best)} {best}",
        ]


def latency_rows(plan, targets, runs):
    def of(cell, name):
        return f"{statistics.median(one['response'][name] for one in cell) * 1000:.1f}"

    for operation in plan["order"]:
        cells = [runs.get((operation, target["name"])) for target in targets]
        yield [operation] + [f"{of(cell, 'p50')} / {of(cell, 'p99')}" if cell else "–" for cell in cells]


def start_rows(targets):
    def megabytes(value):
        return f"{value / 1e6:.0f} MB"

    yield ["start to the first 200", *(f"{target['starts_seconds'][1]:.2f} s" for target in targets)]
    yield ["the same, on an empty store", *(f"{target['starts_seconds'][0]:.2f} s" for target in targets)]
    yield ["memory, ready", *(megabytes(target["idle_bytes"]) for target in targets)]
    yield ["memory, after all rounds", *(megabytes(target["loaded_bytes"]) for target in targets)]


UNPAUSED = """\
Work that the other servers did unasked is part of that: Java still compiles after Keycloak's turn, to the disadvantage of
whoever is next, so look at the highest of a spread too. (Later versions of the script pause the others.)"""


def disturbances(plan, runs):
    every = [one for cell in runs.values() for one in cell]
    noisy = [one for one in every if one["beside"]["strangers_cores"] + one["beside"]["stolen_cores"] > NOISY]
    worst = max(one["beside"]["strangers_cores"] for one in every)
    stolen = max(one["beside"]["stolen_cores"] for one in every)
    verdict = (
        f"In {len(noisy)} of {len(every)} measurements strangers and the hypervisor had more than {NOISY:.0%} of a core"
        if noisy
        else f"In none of {len(every)} measurements had strangers and the hypervisor more than {NOISY:.0%} of a core"
    )
    return (
        f"{verdict}; at most, programs that were not part of it had {worst:.1%} of a core, the hypervisor {stolen:.1%}."
        + ("" if plan.get("others_paused") else f" {UNPAUSED}")
    )


def text(directory, environment, plan, targets, runs, played):
    names = [target["name"] for target in targets]
    unique = dict.fromkeys(target["version"] for target in targets)
    terms = [
        ["store", *(target["store"] for target in targets)],
        ["RSA key, EC key", *("2048 bits, P-256" for _ in targets)],
        ["client secret is kept", *(target["terms"]["secret"] for target in targets)],
        ["opaque access token", *(target["terms"]["opaque"] for target in targets)],
        ["JWT access token", *(target["terms"]["jwt"] for target in targets)],
    ]
    blocks = [
        "<!-- Generated by bench/peers/document.py; `make peers` measures and writes it. -->",
        "# Signet beside other servers",
        f"Measured {environment['measured_at']} on {environment['cores']} cores of {environment['cpu']}, "
        f"{environment['memory_gib']} GiB, Linux {environment['kernel']}; load average at the start "
        f"{environment['load_average']}. {', '.join(unique)}, {environment['postgres']}, {environment['assay']}.",
        f"Signet was {environment['server']}.",
        disturbances(plan, runs),
        "## Requests a second on one core",
        table(["", *names], rate_rows(plan, targets, runs)),
        "Median (lowest – highest). – : the server has no such thing. † : the generator's core was full, "
        "so the server may be able to do more.",
        "## Ratios",
        table(["", "in memory: Signet / oidc-provider", "on PostgreSQL: Signet / Keycloak",
               "Signet on PostgreSQL / best peer, whatever its store"], ratio_rows(plan, targets, runs)),
        "## Processor time, µs a request",
        table(["", *names], cpu_rows(plan, targets, runs)),
        "## Latency at that load, ms, p50 / p99",
        table(["", *names], latency_rows(plan, targets, runs)),
        f"With {plan['concurrency']} requests always on their way these are mostly times in the queue: p50 is about "
        f"{plan['concurrency']} / rate. Medians of the rounds.",
        "## Whole flows, by plans",
        table(["", *names], plan_rows(plan, targets, played)),
        "Flows a second, median (lowest – highest); latency of a flow, p50 / p99; processor time of the server a flow. "
        "Every answer is judged as one who relies on it would: signatures by the published keys, issuer, audience, "
        "nonce, state; a single error, and there is no figure. Judging costs the generator's core time, so that the "
        "fast servers are not driven to their limit here; the tables above do that. Logins are not at equal terms: oidc-provider "
        "believes any password, Keycloak and Signet check an Argon2id hash in each, Signet by default with 19 MiB and two "
        "passes, Keycloak with 7 MiB and five. – : the server has no such thing.",
        "## Start and memory",
        table(["", *names], start_rows(targets)),
        "Memory of the server's processes, without PostgreSQL. On an empty store there is a schema to make, and with "
        "Keycloak a realm to import.",
        "## Terms",
        table(["", *names], terms),
        (Path(__file__).parent / "terms.md").read_text(encoding="utf-8").strip(),
        "## Method",
        METHOD.format(**plan, paused=", the others are paused" if plan.get("others_paused") else ""),
        "## To repeat it",
        "`make peers` measures with the usual lengths; exactly as here:",
        f"```sh\nscripts/peers --rounds {plan['rounds']} --seconds {plan['seconds']:g} --concurrency {plan['concurrency']} "
        f"--warm {plan['warm']:g} --warm-java {plan['warm_java']:g} --tokens {plan['tokens']}\n```",
        f"[peers.md](peers.md) says what it needs and does. What every measurement reported, histograms included, is in "
        f"`{directory}`.",
    ]
    return "\n\n".join(blocks) + "\n"


def write(directory, file):
    file.write_text(text(directory, *load(directory)), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
