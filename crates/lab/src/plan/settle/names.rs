//! Whether every name in every template has a value when it is needed. It must not know how tables are
//! written.

use std::collections::BTreeSet;

use super::Findings;
use crate::plan::model::{FeedPlan, FeedSource, FlowKind, FlowPlan, Population};
use crate::plan::problem::unknown;
use crate::plan::steps::Step;

/// The names that templates may use.
pub(super) struct Known<'a> {
    /// Variables and `env:NAME`.
    pub(super) values: BTreeSet<String>,
    pub(super) feeds: &'a [FeedPlan],
}

impl Known<'_> {
    pub(super) fn check(
        &self,
        setup: &[FlowPlan],
        teardown: &[FlowPlan],
        populations: &[Population],
        findings: &mut Findings,
    ) {
        self.check_generators(findings);
        let mut made = BTreeSet::new();
        for flow in setup {
            self.check_flow(flow, &mut made, false, findings);
        }
        for population in populations {
            for (index, flow) in population.flows.iter().enumerate() {
                let others = population.flows.iter().enumerate();
                let others = others.filter(|(other, _)| *other != index);
                let others = others.flat_map(|(_, flow)| flow.kind.extracts());
                let mut here: BTreeSet<String> = others.map(str::to_owned).collect();
                here.extend(made.iter().cloned());
                self.check_flow(flow, &mut here, true, findings);
            }
        }
        for flow in teardown {
            self.check_flow(flow, &mut made, false, findings);
        }
    }

    fn check_flow(
        &self,
        flow: &FlowPlan,
        made: &mut BTreeSet<String>,
        has_rows: bool,
        findings: &mut Findings,
    ) {
        let FlowKind::Steps(steps) = &flow.kind else {
            let faults = flow.kind.names().into_iter();
            for fault in faults.filter_map(|name| self.fault(name, made, has_rows)) {
                findings.refuse(&format!("{}.with", flow.written), fault);
            }
            return;
        };
        for (index, step) in steps.iter().enumerate() {
            let later: BTreeSet<&str> = steps[index..].iter().flat_map(Step::extracted).collect();
            let faults = step.names().into_iter().filter_map(|name| {
                let fault = self.fault(name, made, has_rows)?;
                let early = later.contains(name).then(|| too_early(name));
                Some(early.unwrap_or(fault))
            });
            let option = format!("{}.steps[{index}]", flow.written);
            faults.for_each(|fault| findings.refuse(&option, fault));
            made.extend(step.extracted().map(str::to_owned));
        }
    }

    /// Templates of generators know variables and their row.
    fn check_generators(&self, findings: &mut Findings) {
        for feed in self.feeds {
            let FeedSource::Generated { columns, .. } = &feed.source else {
                continue;
            };
            for (column, template) in columns {
                let option = format!("feeds.{}.generate.{column}", feed.name);
                let known = || self.values.iter().map(String::as_str).chain(["row"]);
                let unknowns = template.names().filter(|name| known().all(|k| k != *name));
                unknowns
                    .for_each(|name| findings.refuse(&option, unknown("variable", name, known())));
            }
        }
    }

    /// Why a name has no value.
    fn fault(&self, name: &str, made: &BTreeSet<String>, has_rows: bool) -> Option<String> {
        let is_known = ["user", "pass"].contains(&name)
            || name.starts_with("target.")
            || self.values.contains(name)
            || made.contains(name);
        if is_known {
            return None;
        }
        if let Some(variable) = name.strip_prefix("env:") {
            return Some(format!(
                "`${{{name}}}`: put `{variable}` in the list `secrets`"
            ));
        }
        let Some((feed, column)) = name.split_once('.') else {
            let made = made.iter().map(String::as_str);
            let known = self.values.iter().map(String::as_str).chain(made);
            return Some(unknown("variable", name, known));
        };
        if !has_rows {
            return Some(format!("`${{{name}}}`: rows of feeds are for populations"));
        }
        let Some(found) = self.feeds.iter().find(|f| f.name == feed) else {
            return Some(unknown(
                "feed",
                feed,
                self.feeds.iter().map(|f| f.name.as_str()),
            ));
        };
        let columns = found.columns();
        let is_known = columns.is_empty() || columns.contains(&column);
        (!is_known).then(|| unknown(&format!("column of `{feed}`"), column, columns))
    }
}

fn too_early(name: &str) -> String {
    format!("`${{{name}}}`: it is extracted only later; give it a first value in [variables]")
}
