//! People in `PostgreSQL`: users, sessions, consents, families, and what expires soon. Plain
//! writes of many callers share a statement; what appends to the log is rare and goes one by one.

pub(in crate::store) mod changes;
pub(in crate::store) mod consents;
pub(in crate::store) mod failures;
pub(in crate::store) mod families;
pub(in crate::store) mod requests;
pub(in crate::store) mod sessions;
pub(in crate::store) mod users;

/// One column of many rows: what `unnest` takes apart again.
fn column<'a, T, C>(rows: &'a [T], of: impl Fn(&'a T) -> C) -> Vec<C> {
    rows.iter().map(of).collect()
}
