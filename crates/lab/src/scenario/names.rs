//! The variables that a part of a flow cannot do without, and those that it gives to the parts after it:
//! so that a plan that lacks one is told before the run, not by every request. It must not know values.

use std::collections::BTreeSet;

use super::parameters::{ClientAuth, Parameters};
use super::template::Template;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) needs: BTreeSet<String>,
    pub(crate) gives: BTreeSet<String>,
}

impl Names {
    /// Those of templates that are filled in every pass.
    pub(crate) fn of<'a>(templates: impl IntoIterator<Item = &'a Template>) -> Self {
        let templates = templates.into_iter();
        let needs = templates.flat_map(Template::names).map(str::to_owned);
        Self {
            needs: needs.collect(),
            gives: BTreeSet::new(),
        }
    }

    /// Those by which a client speaks for itself.
    pub(crate) fn of_client(parameters: &Parameters) -> Self {
        let secret = match parameters.client_auth {
            ClientAuth::None => None,
            ClientAuth::Basic | ClientAuth::Post => Some(&parameters.client_secret),
        };
        Self::of([&parameters.client_id].into_iter().chain(secret))
    }

    /// The same, and more templates.
    pub(crate) fn and<'a>(mut self, templates: impl IntoIterator<Item = &'a Template>) -> Self {
        self.needs.extend(Self::of(templates).needs);
        self
    }
}
