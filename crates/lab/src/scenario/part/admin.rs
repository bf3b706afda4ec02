//! Requests to the interface through which clients and users are made, as the target's file describes
//! them. It must not know whether a run measures them or is being prepared by them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{basic, bearer};
use crate::call::{Call, Reply, Wrong};
use crate::scenario::judge::answer::{self, pointed, unexpected, wrong};
use crate::scenario::names::Names;
use crate::scenario::parameters::Depth;
use crate::scenario::pass::{Ground, Part, Run, Sent};
use crate::scenario::target::file::{AdminAuth, Operation, Verb};
use crate::scenario::template::Template;
use crate::scenario::user::Held;

/// Gets the administrator's token, where there is none that is still good.
pub(crate) struct SignIn(Operation);

#[derive(Deserialize)]
struct AdminTokenResponse {
    access_token: String,
    expires_in: Option<f64>,
}

impl SignIn {
    /// `None` where the interface wants no token answer.
    pub(crate) fn new(auth: &AdminAuth) -> Option<Self> {
        let AdminAuth::Grant { url, form } = auth else {
            return None;
        };
        Some(Self(Operation {
            method: Verb(http::Method::POST),
            url: url.clone(),
            json: None,
            form: Some(form.clone()),
            headers: BTreeMap::new(),
            ok: vec![200],
            exists: Vec::new(),
        }))
    }
}

impl Part for SignIn {
    fn steps(&self) -> Vec<String> {
        vec!["sign-in".to_owned()]
    }

    fn names(&self, _: &Ground) -> Names {
        Names {
            needs: self.0.names(),
            ..Names::default()
        }
    }

    fn begin(&self, run: &mut Run<'_>) -> Result<Option<Sent>, Wrong> {
        if run
            .user
            .admin
            .as_ref()
            .is_some_and(|held| held.alive(run.now).is_some())
        {
            return Ok(None);
        }
        let call = self.0.build(&run.scope())?;
        Ok(Some(Sent { step: 0, call }))
    }

    fn answered(&self, run: &mut Run<'_>, reply: &Reply) -> Result<Option<Sent>, Wrong> {
        answer::status(reply, &[200])?;
        let response: AdminTokenResponse = answer::json(reply)?;
        let held = Held::new(&response.access_token, response.expires_in, run.now);
        run.user.admin = Some(held);
        Ok(None)
    }
}

/// Makes a client or a user under names of the target's file, or has them made already.
pub(crate) struct Create {
    operation: Option<Operation>,
    /// What it is called, by variable.
    names: Vec<(&'static str, Template)>,
    answer: BTreeMap<String, String>,
}

impl Create {
    pub(crate) fn new(
        operation: Option<Operation>,
        names: Vec<(&'static str, Template)>,
        answer: BTreeMap<String, String>,
    ) -> Self {
        Self {
            operation,
            names,
            answer,
        }
    }

    /// Whether there is anything to send.
    pub(crate) fn calls(&self) -> bool {
        self.operation.is_some()
    }
}

impl Part for Create {
    fn steps(&self) -> Vec<String> {
        vec!["create".to_owned()]
    }

    fn names(&self, ground: &Ground) -> Names {
        let own: BTreeSet<String> = self
            .names
            .iter()
            .map(|(name, _)| (*name).to_owned())
            .collect();
        let called = self.names.iter().map(|(_, template)| template);
        let mut names = Names::of(called).and(of_auth(&ground.admin));
        if let Some(operation) = &self.operation {
            let asked = operation.names().into_iter();
            names.needs.extend(asked.filter(|name| !own.contains(name)));
        }
        names.gives = own;
        names.gives.extend(self.answer.keys().cloned());
        names
    }

    fn begin(&self, run: &mut Run<'_>) -> Result<Option<Sent>, Wrong> {
        for (name, template) in &self.names {
            let value = template.render(&run.scope())?.into_owned();
            run.notes.variables.insert((*name).to_owned(), value);
        }
        let operation = self.operation.as_ref();
        let call = operation
            .map(|operation| call(run, operation))
            .transpose()?;
        Ok(call.map(|call| Sent { step: 0, call }))
    }

    fn answered(&self, run: &mut Run<'_>, reply: &Reply) -> Result<Option<Sent>, Wrong> {
        let Some(operation) = &self.operation else {
            return Ok(None);
        };
        let status = reply.status.as_u16();
        if operation.exists.contains(&status) {
            return Ok(None);
        }
        if !operation.is_ok(status) {
            return Err(unexpected(reply, "success"));
        }
        let learned = learn(reply, &self.answer)?;
        run.notes.variables.extend(learned);
        Ok(None)
    }
}

/// What the file says that the answer tells.
fn learn(reply: &Reply, wanted: &BTreeMap<String, String>) -> Result<Vec<(String, String)>, Wrong> {
    let mut learned = Vec::new();
    for (name, place) in wanted {
        let value = match place.as_str() {
            "location" => last_of_location(reply),
            pointer => pointed(&answer::json::<Value>(reply)?, pointer),
        };
        let lacks = || wrong("answer", format!("the answer has no {name} at {place}"));
        learned.push((name.clone(), value.ok_or_else(lacks)?));
    }
    Ok(learned)
}

fn last_of_location(reply: &Reply) -> Option<String> {
    let location = reply.headers.get(http::header::LOCATION)?.to_str().ok()?;
    let url: Url = reply.url.join(location).ok()?;
    let last = url.path_segments()?.next_back()?;
    (!last.is_empty()).then(|| last.to_owned())
}

/// What is done with a client that is there.
pub(crate) struct Handle {
    step: &'static str,
    operation: Operation,
    expects: Expects,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Expects {
    Success,
    Json,
    /// JSON that has the client's id at this pointer.
    Client(String),
    /// Refused: it is gone.
    Gone,
}

impl Handle {
    pub(crate) fn new(step: &'static str, operation: Operation, expects: Expects) -> Self {
        Self {
            step,
            operation,
            expects,
        }
    }
}

impl Part for Handle {
    fn steps(&self) -> Vec<String> {
        vec![self.step.to_owned()]
    }

    fn names(&self, ground: &Ground) -> Names {
        let mut names = Names::of(of_auth(&ground.admin));
        names.needs.extend(self.operation.names());
        names
    }

    fn begin(&self, run: &mut Run<'_>) -> Result<Option<Sent>, Wrong> {
        let call = call(run, &self.operation)?;
        Ok(Some(Sent { step: 0, call }))
    }

    fn answered(&self, run: &mut Run<'_>, reply: &Reply) -> Result<Option<Sent>, Wrong> {
        if self.expects == Expects::Gone {
            return answer::status(reply, &[401, 403, 404, 410]).map(|()| None);
        }
        if !self.operation.is_ok(reply.status.as_u16()) {
            return Err(unexpected(reply, "success"));
        }
        let depth = run.ground.parameters.judge;
        if depth == Depth::Status || self.expects == Expects::Success {
            return Ok(None);
        }
        let value: Value = answer::json(reply)?;
        let Expects::Client(pointer) = &self.expects else {
            return Ok(None);
        };
        let client_id = run.notes.variables.get("client_id");
        if pointed(&value, pointer).as_ref() != client_id {
            return Err(wrong(
                "client_id",
                "the answer is not the client that was asked for",
            ));
        }
        Ok(None)
    }
}

/// The templates of what every request of an administrator carries.
fn of_auth(auth: &AdminAuth) -> Vec<&Template> {
    match auth {
        AdminAuth::None | AdminAuth::Grant { .. } => Vec::new(),
        AdminAuth::Bearer { token } => vec![token],
        AdminAuth::Basic { username, password } => vec![username, password],
    }
}

fn call(run: &Run<'_>, operation: &Operation) -> Result<Call, Wrong> {
    let scope = run.scope();
    let mut call = operation.build(&scope)?;
    let header = match &run.ground.admin {
        AdminAuth::None => None,
        AdminAuth::Bearer { token } => Some(bearer(&token.render(&scope)?)?),
        AdminAuth::Basic { username, password } => {
            Some(basic(&username.render(&scope)?, &password.render(&scope)?)?)
        }
        AdminAuth::Grant { .. } => {
            // It may have expired a moment ago; then the server says so.
            let held = run.user.admin.as_ref();
            held.map(|held| bearer(held.last())).transpose()?
        }
    };
    call.headers.extend(header);
    Ok(call)
}
