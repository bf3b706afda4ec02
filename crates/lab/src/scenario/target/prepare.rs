//! Fills a target with clients and users through its own interface, before a run. Doing it twice does
//! no harm: what exists is as good as what was created. It must not know how many connections do it.

use super::file::{Admin, AdminAuth};
use super::{BadTarget, Target};
use crate::scenario::Scenario;
use crate::scenario::parameters::Parameters;
use crate::scenario::part::admin::{Create, SignIn};
use crate::scenario::pass::{Ground, Notes, Part, Pass};
use crate::scenario::template::Variables;
use crate::scenario::user::UserState;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) clients: u64,
    pub(crate) users: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Client,
    User,
}

/// The making of one client or user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    pub(crate) kind: Kind,
    /// From 1 on.
    pub(crate) index: u64,
}

pub(crate) struct Prepare {
    counts: Counts,
    clients: Scenario,
    users: Scenario,
}

impl Prepare {
    pub(crate) fn new(target: &Target, counts: Counts) -> Result<Self, BadTarget> {
        let lacks = |lacks| BadTarget::Lacks {
            target: target.file.name.clone(),
            lacks,
        };
        let admin = target.file.admin.as_ref();
        let clients = admin.and_then(|admin| admin.clients.clone());
        let users = admin.and_then(|admin| admin.users.clone());
        if counts.clients > 0 && clients.is_none() {
            return Err(lacks("has no [admin.clients] to make clients with"));
        }
        if counts.users > 0 && users.is_none() {
            return Err(lacks("has no [admin.users] to make users with"));
        }
        let clients = clients.map(|clients| {
            let names = vec![
                ("client_id", clients.client_id),
                ("client_secret", clients.client_secret),
            ];
            Create::new(clients.create, names, clients.answer)
        });
        let users = users.map(|users| {
            let names = vec![("username", users.username), ("password", users.password)];
            Create::new(users.create, names, users.answer)
        });
        Ok(Self {
            counts,
            clients: scenario(target, admin, clients),
            users: scenario(target, admin, users),
        })
    }

    /// The names of the steps, by index; the same for every task.
    pub(crate) fn steps(&self, kind: Kind) -> &[String] {
        self.scenario(kind).steps()
    }

    /// What is to be done, in any order, any number at a time.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = Task> + use<> {
        let of = |kind, count| (1..=count).map(move |index| Task { kind, index });
        of(Kind::Client, self.counts.clients).chain(of(Kind::User, self.counts.users))
    }

    /// `worker` is whoever does it; it keeps the administrator's token for the next task.
    pub(crate) fn begin<'a>(
        &'a self,
        task: Task,
        worker: &'a mut UserState,
        now: fn() -> u64,
    ) -> Pass<'a> {
        let mut notes = Notes::default();
        let index = task.index.to_string();
        notes.variables.insert("index".to_owned(), index);
        Pass::new(self.scenario(task.kind), (worker, &()), notes, now)
    }

    /// After the task is done: its row for the feed of clients (`client_id`, `client_secret` and what
    /// the server told) or users (`username`, `password`).
    pub(crate) fn row(pass: &Pass<'_>) -> Variables {
        let mut row = pass.learned().clone();
        row.remove("index");
        row
    }

    fn scenario(&self, kind: Kind) -> &Scenario {
        match kind {
            Kind::Client => &self.clients,
            Kind::User => &self.users,
        }
    }
}

fn scenario(target: &Target, admin: Option<&Admin>, create: Option<Create>) -> Scenario {
    let auth = admin.map_or(AdminAuth::None, |admin| admin.auth.clone());
    let calls = create.as_ref().is_some_and(Create::calls);
    let sign_in = SignIn::new(&auth).filter(|_| calls);
    let sign_in = sign_in.map(|part| Box::new(part) as Box<dyn Part>);
    let create = create.map(|part| Box::new(part) as Box<dyn Part>);
    let parts = sign_in.into_iter().chain(create).collect();
    Scenario::of_parts(Ground::of(target, Parameters::default()), parts)
}
