//! What is asked of `PostgreSQL` at every tick, by its version (14 to 18 differ), and what the columns of
//! the answers are. It must not know connections.

use super::super::meter::{Measure, Reading};

/// One statement, which answers one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Query {
    pub(crate) sql: String,
    columns: &'static [Column],
}

/// What the next column, or the next two, hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Count(&'static str, &'static str),
    Level(&'static str, &'static str),
    /// A part and its whole.
    Share(&'static str),
}

use Column::{Count, Level, Share};

impl Query {
    fn new(sql: &str, columns: &'static [Column]) -> Self {
        Self {
            sql: sql.to_owned(),
            columns,
        }
    }

    /// The readings of an answered row. A column that is NULL or no number has none.
    pub(crate) fn readings(&self, row: &[Option<&str>]) -> Vec<Reading> {
        let mut values = row
            .iter()
            .map(|value| value.and_then(|text| text.parse::<f64>().ok()));
        let mut next = || values.next().flatten();
        let mut readings = Vec::new();
        for column in self.columns {
            let reading = match *column {
                Count(name, unit) => next().map(|value| (name, unit, Measure::Count(value))),
                Level(name, unit) => next().map(|value| (name, unit, Measure::Level(value))),
                Share(name) => {
                    let (part, whole) = (next(), next());
                    part.zip(whole)
                        .map(|(part, whole)| (name, "%", Measure::Share { part, whole }))
                }
            };
            let reading = reading.map(|(name, unit, measure)| Reading::new(name, unit, measure));
            readings.extend(reading);
        }
        readings
    }
}

const DATABASE: &str = "SELECT xact_commit, xact_rollback, tup_returned, tup_fetched, tup_inserted, \
    tup_updated, tup_deleted, blks_read, blks_hit, blks_hit, blks_hit + blks_read, temp_bytes, deadlocks, \
    pg_database_size(datid) FROM pg_stat_database WHERE datname = current_database()";
const DATABASE_COLUMNS: &[Column] = &[
    Count("commits", "1/s"),
    Count("rollbacks", "1/s"),
    Count("tuples_returned", "1/s"),
    Count("tuples_fetched", "1/s"),
    Count("tuples_inserted", "1/s"),
    Count("tuples_updated", "1/s"),
    Count("tuples_deleted", "1/s"),
    Count("block_reads", "1/s"),
    Count("block_hits", "1/s"),
    Share("cache_hit_ratio"),
    Count("temp_bytes", "B/s"),
    Count("deadlocks", "1/s"),
    Level("size", "B"),
];

const ACTIVITY: &str = "SELECT count(*), \
    count(*) FILTER (WHERE state = 'active'), \
    count(*) FILTER (WHERE state = 'idle'), \
    count(*) FILTER (WHERE state LIKE 'idle in transaction%'), \
    count(*) FILTER (WHERE state = 'active' AND wait_event_type IS NULL), \
    count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'IO'), \
    count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Lock'), \
    count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'LWLock'), \
    count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Client'), \
    count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'IPC'), \
    count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Timeout'), \
    count(*) FILTER (WHERE state = 'active' \
        AND wait_event_type NOT IN ('IO', 'Lock', 'LWLock', 'Client', 'IPC', 'Timeout')) \
    FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
const ACTIVITY_COLUMNS: &[Column] = &[
    Level("connections", ""),
    Level("connections_active", ""),
    Level("connections_idle", ""),
    Level("connections_in_transaction", ""),
    Level("waits_none", ""),
    Level("waits_io", ""),
    Level("waits_lock", ""),
    Level("waits_lwlock", ""),
    Level("waits_client", ""),
    Level("waits_ipc", ""),
    Level("waits_timeout", ""),
    Level("waits_other", ""),
];

const WAL: &str = "SELECT wal_records, wal_fpi, wal_bytes, wal_buffers_full FROM pg_stat_wal";
const WAL_COLUMNS: &[Column] = &[
    Count("wal_records", "1/s"),
    Count("wal_full_pages", "1/s"),
    Count("wal_bytes", "B/s"),
    Count("wal_buffers_full", "1/s"),
];

/// Version 18 counts them with all other input and output.
const WAL_CALLS: &str = "SELECT wal_write, wal_sync FROM pg_stat_wal";
const WAL_CALLS_18: &str = "SELECT sum(writes), sum(fsyncs) FROM pg_stat_io WHERE object = 'wal'";
const WAL_CALLS_COLUMNS: &[Column] = &[Count("wal_writes", "1/s"), Count("wal_syncs", "1/s")];

/// Version 17 gave the checkpointer a view of its own, and 18 counts those that did something.
const CHECKPOINTS: &str =
    "SELECT checkpoints_timed + checkpoints_req, buffers_checkpoint FROM pg_stat_bgwriter";
const CHECKPOINTS_17: &str =
    "SELECT num_timed + num_requested, buffers_written FROM pg_stat_checkpointer";
const CHECKPOINTS_18: &str = "SELECT num_done, buffers_written FROM pg_stat_checkpointer";
const CHECKPOINTS_COLUMNS: &[Column] = &[
    Count("checkpoints", "1/s"),
    Count("checkpoint_blocks", "1/s"),
];

/// Version 16 counts all input and output in one view; before, blocks written were known by the writer.
const WRITES: &str = "SELECT buffers_checkpoint + buffers_clean + buffers_backend, \
    buffers_backend_fsync FROM pg_stat_bgwriter";
const WRITES_16: &str = "SELECT sum(coalesce(writes, 0) + coalesce(extends, 0)), sum(fsyncs) \
    FROM pg_stat_io WHERE object <> 'wal'";
const WRITES_COLUMNS: &[Column] = &[Count("block_writes", "1/s"), Count("block_syncs", "1/s")];

const STATEMENTS_COLUMNS: &[Column] = &[
    Count("statements", "1/s"),
    Count("statement_rows", "1/s"),
    Count("statement_time", "s/s"),
];

/// The oldest version that is understood.
pub(crate) const OLDEST: u32 = 140_000;

/// Everything that is asked of a server of this version, such as `150_004`.
pub(crate) fn queries(version: u32) -> Vec<Query> {
    let wal_calls = if version < 180_000 {
        WAL_CALLS
    } else {
        WAL_CALLS_18
    };
    let checkpoints = match version {
        ..170_000 => CHECKPOINTS,
        170_000..180_000 => CHECKPOINTS_17,
        180_000.. => CHECKPOINTS_18,
    };
    let writes = if version < 160_000 { WRITES } else { WRITES_16 };
    vec![
        Query::new(DATABASE, DATABASE_COLUMNS),
        Query::new(ACTIVITY, ACTIVITY_COLUMNS),
        Query::new(WAL, WAL_COLUMNS),
        Query::new(wal_calls, WAL_CALLS_COLUMNS),
        Query::new(checkpoints, CHECKPOINTS_COLUMNS),
        Query::new(writes, WRITES_COLUMNS),
    ]
}

/// The statements of this database, by the extension in this schema, whose name is quoted already. The
/// texts of the statements stay where they are: reading them costs more than all the rest.
pub(crate) fn statements(schema: &str) -> Query {
    let sql = format!(
        "SELECT coalesce(sum(calls), 0), coalesce(sum(rows), 0), coalesce(sum(total_exec_time), 0) / 1000 \
         FROM {schema}.pg_stat_statements(false) \
         WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())"
    );
    Query::new(&sql, STATEMENTS_COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_become_readings_in_their_order() {
        let query = Query::new("", &[Level("a", ""), Share("b"), Count("c", "1/s")]);
        let readings = query.readings(&[Some("1"), Some("2"), Some("3.5"), Some("4")]);
        let measures: Vec<_> = readings.iter().map(|reading| reading.measure).collect();
        assert_eq!(
            measures,
            [
                Measure::Level(1.0),
                Measure::Share {
                    part: 2.0,
                    whole: 3.5
                },
                Measure::Count(4.0)
            ]
        );
    }

    #[test]
    fn a_column_without_a_number_does_not_shift_the_others() {
        let query = Query::new("", &[Level("a", ""), Share("b"), Count("c", "1/s")]);
        let readings = query.readings(&[None, Some("2"), None, Some("4")]);
        assert_eq!(readings.len(), 1);
        assert_eq!(readings[0].name, "c");
        assert!(query.readings(&[Some("x")]).is_empty());
    }

    #[test]
    fn every_version_is_asked_what_it_has() {
        for (version, has, has_not) in [
            (140_000, "wal_sync", "pg_stat_io"),
            (150_004, "buffers_backend", "pg_stat_checkpointer"),
            (160_001, "pg_stat_io", "pg_stat_checkpointer"),
            (170_000, "num_timed", "checkpoints_timed"),
            (180_000, "num_done", "wal_sync"),
        ] {
            let all: Vec<_> = queries(version)
                .into_iter()
                .map(|query| query.sql)
                .collect();
            let all = all.join(";");
            assert!(all.contains(has) && !all.contains(has_not), "{version}");
        }
    }

    #[test]
    fn every_version_gives_the_same_figures() {
        let columns = |version| -> Vec<_> {
            let queries = queries(version).into_iter();
            queries.map(|query| query.columns).collect()
        };
        for version in [150_000, 160_000, 170_000, 180_000] {
            assert_eq!(columns(version), columns(140_000), "{version}");
        }
    }
}
