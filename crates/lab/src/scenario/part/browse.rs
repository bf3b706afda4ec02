//! A browser on its way through a server's pages, by the stages of the target's file, until it comes
//! back to the client. It must not know what the way is for: logins and logouts are alike.

use std::collections::BTreeSet;

use http::header;
use serde_json::Value;
use url::{Origin, Url};

use crate::call::{Call, Reply, Wrong};
use crate::scenario::agent::redirect;
use crate::scenario::judge::answer::{self, is_code, pointed, shown, wrong};
use crate::scenario::judge::callback::is_home;
use crate::scenario::names::Names;
use crate::scenario::pass::{Run, Sent};
use crate::scenario::target::file::{CallStage, FormStage, Stage, Stages};
use crate::scenario::target::set_up::get;

/// More than any server needs; a circle ends here.
const MOST_HOPS: u32 = 25;

pub(crate) struct Browser {
    stages: Vec<Staged>,
    origins: Vec<Origin>,
    /// The index of the step of redirects that are no page of a stage.
    redirect: usize,
    steps: Vec<String>,
}

struct Staged {
    stage: Stage,
    /// The step of opening its page, where it can be told by its URL.
    page: usize,
    /// The step of sending its form or its call.
    act: usize,
}

/// Where an answer has led.
pub(crate) enum Hop {
    Send(Sent),
    /// Back at the client, by this redirect.
    Home(Url),
    /// At a page that no stage fits.
    Page,
}

impl Browser {
    /// `first` is the name of the step that the caller begins with.
    pub(crate) fn new(first: &str, stages: &Stages, origins: Vec<Origin>) -> Self {
        let mut steps = vec![first.to_owned()];
        let mut placed = Vec::new();
        for stage in &stages.stages {
            let has_page = stage.form.is_some() && !stage.when.is_open();
            if has_page {
                steps.push(format!("{}-page", stage.name));
            }
            let page = steps.len() - 1;
            steps.push(stage.name.clone());
            let act = steps.len() - 1;
            let stage = stage.clone();
            placed.push(Staged { stage, page, act });
        }
        steps.push("redirect".to_owned());
        Self {
            stages: placed,
            origins,
            redirect: steps.len() - 1,
            steps,
        }
    }

    pub(crate) fn steps(&self) -> Vec<String> {
        self.steps.clone()
    }

    /// The variables that its stages are filled with.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        let stages = self.stages.iter().map(|staged| &staged.stage);
        let forms = stages.clone().filter_map(|stage| stage.form.as_ref());
        let calls = stages.filter_map(|stage| stage.call.as_ref());
        let mut names = Names::of(forms.flat_map(|form| form.fill.values())).needs;
        names.extend(calls.flat_map(|call| call.request.names()));
        names
    }

    /// The index of a stage.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.stages
            .iter()
            .position(|staged| staged.stage.name == name)
    }

    pub(crate) fn name(&self, index: usize) -> &str {
        self.stages
            .get(index)
            .map_or("", |staged| &staged.stage.name)
    }

    /// The first request of the way.
    pub(crate) fn begin(run: &mut Run<'_>, call: Call) -> Sent {
        run.notes.browse = crate::scenario::pass::Browsing::default();
        send(run, 0, call)
    }

    /// What a browser does with an answer, on its way to `home`.
    pub(crate) fn follow(
        &self,
        run: &mut Run<'_>,
        reply: &Reply,
        home: &Url,
    ) -> Result<Hop, Wrong> {
        run.user.agent.keep(reply, run.now);
        run.notes.browse.hops += 1;
        if run.notes.browse.hops > MOST_HOPS {
            return Err(wrong(
                "redirect",
                format!("not at the client after {MOST_HOPS} answers"),
            ));
        }
        let called = run.notes.browse.called.take();
        let next =
            called.and_then(|index| self.stages.get(index)?.stage.call.as_ref()?.next.as_ref());
        let location = match next {
            Some(pointer) => Some(told(reply, pointer)?),
            None => redirect(reply),
        };
        match location {
            Some(url) => self.open(run, url, home),
            None => self.act(run, reply),
        }
    }

    fn open(&self, run: &mut Run<'_>, url: Url, home: &Url) -> Result<Hop, Wrong> {
        if is_home(&url, home) {
            return Ok(Hop::Home(url));
        }
        let Some(index) = self.stage_at(run, &url) else {
            return self.open_page(run, &url, self.redirect);
        };
        match &self.stages[index].stage.call {
            Some(call) => self.call(run, index, call, &url).map(Hop::Send),
            None => self.open_page(run, &url, self.stages[index].page),
        }
    }

    /// The stage that a URL belongs to; one that is over only where no other fits.
    fn stage_at(&self, run: &Run<'_>, url: &Url) -> Option<usize> {
        let fits = |index: &usize| {
            let when = &self.stages[*index].stage.when;
            !when.is_open() && when.fits(url)
        };
        let seen = &run.notes.browse.seen;
        let mut fitting = (0..self.stages.len()).filter(fits).peekable();
        let first = fitting.peek().copied();
        fitting.find(|index| !seen.contains(index)).or(first)
    }

    fn open_page(&self, run: &mut Run<'_>, url: &Url, step: usize) -> Result<Hop, Wrong> {
        if !self.origins.contains(&url.origin()) {
            let origin = shown(&url.origin().ascii_serialization());
            let detail = format!("to {origin}, which is neither the target nor the client");
            return Err(wrong("redirect", detail));
        }
        Ok(Hop::Send(send(run, step, get(url))))
    }

    fn call(
        &self,
        run: &mut Run<'_>,
        index: usize,
        call: &CallStage,
        url: &Url,
    ) -> Result<Sent, Wrong> {
        self.enter(run, index)?;
        for (name, value) in url.query_pairs() {
            run.notes
                .variables
                .insert(format!("query.{name}"), value.into_owned());
        }
        let call = call.request.build(&run.scope())?;
        run.notes.browse.called = Some(index);
        Ok(send(run, self.stages[index].act, call))
    }

    /// On a page: fills in the form of the first stage that fits.
    fn act(&self, run: &mut Run<'_>, reply: &Reply) -> Result<Hop, Wrong> {
        answer::status(reply, &[200])?;
        let page = String::from_utf8_lossy(&reply.body);
        let fitting = self.stages.iter().enumerate().find_map(|(index, staged)| {
            let stage = staged.stage.form.as_ref()?;
            let form = stage
                .select
                .find(&page)
                .filter(|_| staged.stage.when.fits(&reply.url))?;
            Some((index, stage, form))
        });
        let Some((index, stage, form)) = fitting else {
            return Ok(Hop::Page);
        };
        self.enter(run, index)?;
        let filled = fill(stage, run)?;
        let call = form.submit(&reply.url, &filled, stage.press.as_deref());
        let Some(mut call) = call else {
            let press = stage.press.as_deref().unwrap_or_default();
            let name = &self.stages[index].stage.name;
            return Err(wrong(
                "form",
                format!("the form of {name} has no button {press:?}"),
            ));
        };
        if !self.origins.contains(&call.url.origin()) {
            return Err(wrong("form", "the form would go to somebody else's server"));
        }
        if let Ok(referer) = http::HeaderValue::from_str(reply.url.as_str()) {
            call.headers.push((header::REFERER, referer));
        }
        Ok(Hop::Send(send(run, self.stages[index].act, call)))
    }

    fn enter(&self, run: &mut Run<'_>, index: usize) -> Result<(), Wrong> {
        let seen = &mut run.notes.browse.seen;
        if seen.contains(&index) {
            let name = &self.stages[index].stage.name;
            return Err(wrong(
                "login",
                format!("{name} came back: was what was sent right?"),
            ));
        }
        seen.push(index);
        Ok(())
    }
}

fn fill(stage: &FormStage, run: &Run<'_>) -> Result<Vec<(String, String)>, Wrong> {
    let scope = run.scope();
    let fields = stage.fill.iter();
    fields
        .map(|(name, value)| Ok((name.clone(), value.render(&scope)?.into_owned())))
        .collect()
}

fn send(run: &Run<'_>, step: usize, mut call: Call) -> Sent {
    run.user.agent.attach(&mut call, run.now);
    Sent { step, call }
}

/// Where the JSON of an answer says to go.
fn told(reply: &Reply, pointer: &str) -> Result<Url, Wrong> {
    answer::status(reply, &[200, 201])?;
    let value: Value = answer::json(reply)?;
    let text = pointed(&value, pointer);
    let url = text.and_then(|text| reply.url.join(&text).ok());
    url.ok_or_else(|| wrong("json", format!("there is no URL at {pointer}")))
}

/// The complaint about a page that nobody expected.
pub(crate) fn stranded(reply: &Reply) -> Wrong {
    let path = shown(reply.url.path());
    let error = reply
        .url
        .query_pairs()
        .find(|(name, value)| name == "error" && is_code(value));
    let error = error.map_or(String::new(), |(_, code)| format!(", error {code}"));
    let detail = format!("no stage of the target's file fits the page at {path}{error}");
    wrong("page", detail)
}
