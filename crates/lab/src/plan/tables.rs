//! The tables of a plan as they are written, each option said once: its name, type and manual. From
//! this list come the reader of the file and `docs/plans.md`. What options mean together is settled
//! in `settle.rs`; this must not know it.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};

use serde::Deserialize;

use super::quantity::{Length, Level, Rate, Scalar};
use super::steps::codes::Codes;
use super::template::Template;
use super::think::Think;
use super::tree::Tree;

/// An option as the manual knows it.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) name: &'static str,
    pub(super) form: &'static str,
    /// Lines of the manual, each with the blank that follows `///`.
    pub(super) manual: &'static [&'static str],
}

/// A table of the file, `""` for the top.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) title: &'static str,
    pub(super) manual: &'static [&'static str],
    pub(super) options: &'static [Spec],
}

macro_rules! tables {
    ($(
        $(#[doc = $about:literal])*
        $title:literal struct $name:ident {
            $($(#[doc = $manual:literal])* $option:ident: $type:ty, $form:literal;)*
        }
    )*) => {
        $(
            $(#[doc = $about])*
            #[derive(Clone, Debug, Default, Deserialize)]
            #[serde(deny_unknown_fields, default)]
            pub(super) struct $name {
                $($(#[doc = $manual])* pub(super) $option: $type,)*
            }
        )*

        /// Every table, in the order of the manual.
        pub(super) const TABLES: &[Table] = &[$(Table {
            title: $title,
            manual: &[$($about),*],
            options: &[$(Spec {
                name: stringify!($option),
                form: $form,
                manual: &[$($manual),*],
            }),*],
        }),*];
    };
}

tables! {
    /// These stand at the beginning of the file, before the first table. Only `populations` is
    /// required.
    "" struct PlanTable {
        /// What the run is called; without one, the name of the file.
        name: Option<String>, "a text";
        /// A sentence for the reports.
        description: String, "a text";
        /// Whom to load: the name of a file in `bench/targets` without its ending, or the table
        /// that such a file holds. `--target` replaces it.
        target: Option<toml::Value>, "a name, or a table";
        /// Values that templates call `${name}`. `--set name=value` replaces one of them.
        variables: BTreeMap<String, Scalar>, "a table of texts and numbers";
        /// Names of what must never be shown: of variables above, or else of the environment, where
        /// templates call them `${env:NAME}`. In what a run keeps and reports, their values are
        /// `[redacted]`.
        secrets: Vec<String>, "a list of names";
        /// The beginning of everything random: the same seed gives the same rows, values, pauses and
        /// arrivals.
        seed: u64, "a whole number, 0 by default";
        /// The first part of the run, which is kept apart from the figures.
        warmup: Length, "a length of time, none by default";
        /// How long answers that are on their way at the end are waited for.
        grace: Option<Length>, "a length of time, `\"10 s\"` by default";
        /// How long a call may take, connecting included.
        timeout: Option<Length>, "a length of time, `\"20 s\"` by default";
        /// What the run keeps: every sample, or histograms only, for very long runs.
        keep: Keep, "`\"samples\"` (default) or `\"histograms\"`";
        /// Conditions that the finished run must meet, such as `p99 < 50 ms` or `errors < 0.1 %`; one
        /// that is not met makes the exit status 3.
        thresholds: Vec<String>, "a list of conditions";
        /// Conditions that end the run early, such as `5xx > 5 % for 10 s` or `p99 > 500 ms for 15 s`.
        autostop: Vec<String>, "a list of conditions";
        /// What else is watched on the same axis: processes, databases, endpoints of metrics.
        watch: Vec<toml::Table>, "a list of tables";
        /// How users connect.
        connection: ConnectionTable, "a table, see below";
        /// Rows of data for templates.
        feeds: BTreeMap<String, FeedTable>, "tables by name, see below";
        /// Flows that are used more than once; populations, `setup` and `teardown` call them by name.
        flows: BTreeMap<String, FlowTable>, "tables by name, see below";
        /// Who does what, how often and how long. All populations run at the same time.
        populations: Vec<PopulationTable>, "a list of tables, see below";
        /// Flows that are gone through once, in order, before the load. What they extract is known to
        /// every user. A step that fails ends the run.
        setup: Vec<FlowTable>, "a list of tables like those of `flows`";
        /// Flows that are gone through once, in order, after the load, even after a run that was
        /// stopped.
        teardown: Vec<FlowTable>, "a list of tables like those of `flows`";
    }

    /// How users connect. Without the table: HTTP/1.1, a connection for every user, the system's
    /// authorities.
    "[connection]" struct ConnectionTable {
        /// `"h1"` is HTTP/1.1; `"h2"` is HTTP/2, by ALPN over TLS and by prior knowledge without.
        protocol: Protocol, "`\"h1\"` (default) or `\"h2\"`";
        /// How long a connection is used: by its user for the whole run, for one pass through a
        /// flow, or for one call.
        reuse: Reuse, "`\"run\"` (default), `\"pass\"` or `\"call\"`";
        /// How many connections the calls in gRPC of a generator take in turn. With `reuse = "call"`
        /// every call has one of its own, and with `"pass"` every pass.
        connections: Option<NonZeroUsize>, "a whole number from 1, 1 by default; only for gRPC";
        /// Only the authorities of this PEM file are believed. Relative to the plan.
        ca_file: Option<String>, "a path";
        /// Any certificate is believed.
        insecure: bool, "`true` or `false` (default)";
    }

    /// Rows of data: a CSV file (`file`), a generator by `kind`, or one by the templates of its
    /// columns (`generate`). A template calls a value `${feed.column}`.
    "[feeds.NAME]" struct FeedTable {
        /// A CSV file in UTF-8, relative to the plan. A byte-order mark, lines that begin with `#`
        /// and empty lines are skipped. The first row gives the names of the columns, unless
        /// `columns` does.
        file: Option<String>, "a path";
        /// The names of the columns of a file that has no such row.
        columns: Vec<String>, "a list of names";
        /// Whether the first row is one of names. With `columns`, such a row is skipped.
        header: Option<bool>, "`true` or `false`; by default `true` unless there are `columns`";
        /// What separates the columns.
        delimiter: Option<String>, "one ASCII character, `\",\"` by default";
        /// Whether `\"` encloses values that contain delimiters or line ends; `\"\"` stands for one.
        quotes: Option<bool>, "`true` (default) or `false`";
        /// `users` makes the columns `username`, `password`, `given_name`, `family_name` and `email`;
        /// `clients` makes `client_id`, `client_secret` and `client_name`; `ids` makes `id`, a UUID.
        kind: Option<Kind>, "`\"users\"`, `\"clients\"` or `\"ids\"`";
        /// The columns by name. Beside what all templates know, `${row}` counts from 1.
        generate: BTreeMap<String, Template>, "a table of templates";
        /// How many rows are generated.
        rows: Option<u64>, "a whole number";
        /// What generated user names and client ids begin with.
        prefix: Option<String>, "a text; by default the name of the feed";
        /// Who gets which row. `shared`: one row after the other to whoever begins a pass. `unique`:
        /// user 0 keeps the first row, user 1 the second, and so on. `partitioned`: the rows are dealt
        /// out to the users, and each goes through its own. With a rate, every arrival is a user.
        share: Share, "`\"shared\"` (default), `\"unique\"` or `\"partitioned\"`";
        /// What happens when there is no further row: begin again, stop the user, or end the run with
        /// an error. With `unique` rows it is by default an error.
        end: Option<End>, "`\"recycle\"` (else the default), `\"stop\"` or `\"error\"`";
        /// Whether the rows are taken in an order of the seed's instead of the file's.
        shuffle: bool, "`true` or `false` (default)";
    }

    /// What one pass does: a flow that is built in or stands in `[flows.NAME]` (`flow`), or steps.
    "[flows.NAME], [[setup]], [[teardown]], mix" struct FlowTable {
        /// What the reports call it; without one, the name of the flow.
        name: Option<String>, "a text";
        /// The name of a flow in `[flows]`, or of one that is built in.
        flow: Option<String>, "a name";
        /// The parameters of a built-in flow. Texts are templates.
        with: BTreeMap<String, Tree>, "a table";
        /// The steps, in order. The first wrong answer ends the pass.
        steps: Vec<StepTable>, "a list of tables, see below";
        /// How often, in relation to the others of a `mix`: 80 and 20 are exactly 80 % and 20 %.
        weight: Option<u32>, "a whole number from 1, 1 by default; only in a `mix`";
    }

    /// A group of virtual users who do the same. `users` makes a closed loop: each begins a pass when
    /// the last one is over. `rate` makes an open one: passes begin by the timetable, whether or not
    /// the target keeps up, and latencies count from the intended start.
    "[[populations]]" struct PopulationTable {
        /// What the reports call it.
        name: Option<String>, "a text; required when there are several";
        /// So many users. With `stages`, how many there are at the beginning.
        users: Option<u64>, "a whole number";
        /// So many passes begin per unit of time. With `stages`, at the beginning.
        rate: Option<Rate>, "a rate, such as `\"200/s\"`";
        /// `users` or `rate` is reached evenly in this time.
        ramp: Option<Length>, "a length of time, none by default";
        /// How long the level is held after the ramp.
        hold: Option<Length>, "a length of time";
        /// How long passes begin, the ramp included; instead of `hold`. Passes that have begun are
        /// gone through.
        duration: Option<Length>, "a length of time";
        /// Further levels, one after the other; instead of `ramp`, `hold` and `duration`.
        stages: Vec<StageTable>, "a list of tables, see below";
        /// Every user goes through so many passes and then stops. Not with `rate`.
        loops: Option<u64>, "a whole number; without one, until the time is over";
        /// `even`: arrivals keep equal distances. `poisson`: they are independent of one another, as
        /// those of many strangers are.
        arrivals: Option<Spacing>, "`\"even\"` (default) or `\"poisson\"`; only with `rate`";
        /// How many passes may be under way at the same time; further arrivals wait, and their wait
        /// counts.
        limit: Option<u64>, "a whole number, 1000 by default; only with `rate`";
        /// How many arrivals may wait; further ones are dropped and counted.
        backlog: Option<u64>, "a whole number; by default ten seconds of arrivals; only with `rate`";
        /// The population begins so long after the run.
        delay: Length, "a length of time, none by default";
        /// The pause of a user between two passes.
        think: Think, "a pause, see below; none by default";
        /// The pause of a user between two steps of a pass, unless the step has its own.
        step_think: Think, "a pause, see below; none by default";
        /// A user's pass begins at least so long after the one before began.
        pacing: Length, "a length of time, none by default";
        /// The name of a flow in `[flows]`, or of one that is built in.
        flow: Option<String>, "a name";
        /// The parameters of the built-in flow. Texts are templates.
        with: BTreeMap<String, Tree>, "a table";
        /// The steps of the population's only flow.
        steps: Vec<StepTable>, "a list of tables, see below";
        /// Several flows by weight, instead of one.
        mix: Vec<FlowTable>, "a list of tables like those of `flows`";
    }

    /// A part of a population's time. `{ to = 50, ramp = \"30 s\" }` leads evenly to 50 users;
    /// `{ hold = \"5 m\" }` keeps the level; `{ to = \"400/s\", hold = \"10 s\" }` goes there at once.
    "stages" struct StageTable {
        /// The level at the end of the ramp.
        to: Option<Level>, "a number of users, or a rate; by default the level before";
        /// How long it takes to get there.
        ramp: Length, "a length of time, none by default";
        /// How long the level is held then.
        hold: Length, "a length of time, none by default";
    }

    /// One call: a request, what is kept of its answer, and what makes the answer right. Every text is
    /// a template. Either a `url`, with at most one of `form`, `json` and `body`, or `grpc`.
    "steps" struct StepTable {
        /// What the reports call it.
        name: Option<String>, "a text; by default the method and the URL, or the method of gRPC";
        /// The method.
        method: Option<String>, "a text; `\"POST\"` with a body and else `\"GET\"` by default";
        /// Where to: absolute, or relative to the target's URL. Values are inserted as they are.
        url: Option<Template>, "a template; required without `grpc`";
        /// Parameters that are appended to the URL, percent-encoded.
        query: BTreeMap<String, Template>, "a table of templates";
        /// Headers, but for those that the lab sets itself: `Host`, `Connection`, `Content-Length` and
        /// `Transfer-Encoding`.
        headers: BTreeMap<String, Template>, "a table of templates";
        /// User name and password of Basic authentication (RFC 7617).
        basic: Vec<Template>, "a list of two templates";
        /// The token of Bearer authentication (RFC 6750).
        bearer: Option<Template>, "a template";
        /// A body of form fields.
        form: BTreeMap<String, Template>, "a table of templates";
        /// A body in JSON.
        json: Option<Tree>, "a table or a list";
        /// A body as it is.
        body: Option<Template>, "a template";
        /// A call in gRPC. Of the options of a request, only `bearer` goes with it.
        grpc: Option<GrpcTable>, "a table, see below";
        /// What later steps and passes of the user call `${name}`.
        extract: BTreeMap<String, ExtractTable>, "tables by name, see below";
        /// What makes the answer right.
        check: CheckTable, "a table, see below";
        /// The pause after the step.
        think: Option<Think>, "a pause, see below";
        /// Only in the first pass of every user, such as a login.
        once: bool, "`true` or `false` (default)";
    }

    /// A call to the server that the table `grpc` of the target names; see [gRPC](grpc.md). Its answer is
    /// the last message in JSON, for `extract` (`json` and `regex`) and for `check`.
    "grpc" struct GrpcTable {
        /// What is called: `package.Service/Method`.
        method: Option<String>, "a text; required";
        /// The message: fields by their name in JSON or in the `.proto` file. Of a method that takes a
        /// stream also a list of messages, which are sent in turn. In a text, values are inserted as
        /// they are; in a table they cannot leave their quotes.
        message: Option<Tree>, "a table, a list, or a text that holds JSON; by default a message without fields";
        /// How many messages are sent to a method that takes a stream; a list is gone through again and
        /// again.
        messages: Option<u64>, "a whole number; by default as many as `message` has";
        /// How many messages may be unanswered before the next is held back; 1 is ping-pong. Only where
        /// each message is answered with one.
        outstanding: Option<NonZeroU64>, "a whole number from 1; without one, no message waits for an answer";
        /// Fields that are sent along, beside the token of `bearer`.
        metadata: BTreeMap<String, Template>, "a table of templates";
    }

    /// Where a value is found in an answer: exactly one of `json`, `regex`, `header`, `cookie`,
    /// `redirect`, `location`, `field` and `action`.
    "extract" struct ExtractTable {
        /// A JSON pointer (RFC 6901), such as `/access_token`. Texts are taken without quotes.
        json: Option<String>, "a text";
        /// A regular expression over the body.
        regex: Option<String>, "a text";
        /// The group of the regular expression; 0 is the whole match.
        group: Option<usize>, "a whole number, 1 by default";
        /// The first header of this name.
        header: Option<String>, "a text";
        /// The value of the cookie of this name that the answer sets.
        cookie: Option<String>, "a text";
        /// The parameter of this name in the query or the fragment of the `Location`.
        redirect: Option<String>, "a text";
        /// The whole `Location`, made absolute.
        location: bool, "`true`";
        /// The value of the HTML input of this name.
        field: Option<String>, "a text";
        /// The address that an HTML form is sent to, made absolute.
        action: bool, "`true`";
        /// The `id` or `name` of the HTML form, for `field` and `action`; by default any form, the
        /// first that fits.
        form: Option<String>, "a text";
        /// The value when none is found. Without one, the answer is wrong.
        default: Option<String>, "a text";
    }

    /// What makes an answer right. All of it must hold; the first that does not is counted.
    "check" struct CheckTable {
        /// These statuses.
        status: Statuses, "a status, a class such as `\"2xx\"`, or a list of them; by default 2xx and 3xx";
        /// These codes of gRPC.
        code: Codes, "a code such as `\"NOT_FOUND\"`, or a list of them; by default `\"OK\"`; only with `grpc`";
        /// How many messages the answer has.
        messages: Option<u64>, "a whole number; only with `grpc`";
        /// Values at JSON pointers (RFC 6901), such as `\"/token_type\" = \"Bearer\"`.
        json: BTreeMap<String, Tree>, "a table of values; texts are templates";
        /// JSON pointers at which there is a value that is not `null`.
        json_exists: Vec<String>, "a list of texts";
        /// JSON pointers at which there is nothing, or `null`.
        json_absent: Vec<String>, "a list of texts";
        /// Headers that contain a text, whatever its case; `\"\"`: that are there.
        headers: BTreeMap<String, Template>, "a table of templates";
        /// Texts that the body contains.
        contains: Vec<Template>, "a list of templates";
        /// Texts that the body does not contain.
        contains_not: Vec<Template>, "a list of templates";
        /// Regular expressions that match the body somewhere.
        matches: Vec<String>, "a list of texts";
        /// The largest body, in bytes.
        max_size: Option<u64>, "a whole number";
    }
}

/// What a run keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Keep {
    #[default]
    Samples,
    Histograms,
}

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Protocol {
    #[default]
    H1,
    H2,
}

/// How long a connection is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reuse {
    #[default]
    Run,
    Pass,
    Call,
}

/// A generator of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Users,
    Clients,
    Ids,
}

/// Who gets which row of a feed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Share {
    #[default]
    Shared,
    Unique,
    Partitioned,
}

/// What happens when a feed has no further row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum End {
    Recycle,
    Stop,
    Error,
}

/// The distances of arrivals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Spacing {
    #[default]
    Even,
    Poisson,
}

/// Statuses of right answers; empty: 2xx and 3xx.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "OneOrMany")]
pub(crate) struct Statuses(pub(crate) Vec<std::ops::RangeInclusive<u16>>);

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a status such as 200, a class such as \"2xx\", or a list of them"
)]
enum OneOrMany {
    One(Scalar),
    Many(Vec<Scalar>),
}

impl TryFrom<OneOrMany> for Statuses {
    type Error = String;

    fn try_from(written: OneOrMany) -> Result<Self, String> {
        let written = match written {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        };
        let ranges = written.iter().map(|Scalar(text)| statuses(text));
        ranges.collect::<Result<_, _>>().map(Self)
    }
}

fn statuses(text: &str) -> Result<std::ops::RangeInclusive<u16>, String> {
    let expected =
        || format!("expected a status such as 200 or a class such as \"2xx\", not `{text}`");
    let is_status = |status: &u16| (100..=599).contains(status);
    if let Some(class) = text.strip_suffix("xx") {
        let first = class
            .parse::<u16>()
            .ok()
            .map(|class| class.saturating_mul(100));
        let first = first.filter(is_status).ok_or_else(expected)?;
        return Ok(first..=first + 99);
    }
    let status = text.parse().ok().filter(is_status).ok_or_else(expected)?;
    Ok(status..=status)
}
