//! Every flow, put together from parts. It must not know what is in the parts.

use url::Url;

use super::parameters::{BadScenario, GrantKind, Parameters};
use super::part::admin::{Create, Expects, Handle, SignIn};
use super::part::authorize::Authorize;
use super::part::browse::Browser;
use super::part::document::Document;
use super::part::grant::{Grant, Replay, TokenRequest, Unless};
use super::part::introspect::Introspect;
use super::part::logout::Logout;
use super::part::revoke::Revoke;
use super::part::userinfo::Userinfo;
use super::pass::Part;
use super::target::Target;
use super::target::file::Clients;

type Parts = Vec<Box<dyn Part>>;

/// The parts of a flow that `Parameters::parse` knows.
pub(super) fn parts(
    flow: &'static str,
    parameters: &Parameters,
    target: &Target,
) -> Result<Parts, BadScenario> {
    let builder = Builder {
        flow,
        parameters,
        target,
    };
    builder.parts()
}

struct Builder<'a> {
    flow: &'static str,
    parameters: &'a Parameters,
    target: &'a Target,
}

impl Builder<'_> {
    fn parts(&self) -> Result<Parts, BadScenario> {
        match self.flow {
            "client-credentials" => self.only_token(Grant::ClientCredentials),
            "password" => self.only_token(Grant::Password),
            "password-revocation" => self.revocation(GrantKind::Password, false),
            "revocation" => self.revocation(self.grant(GrantKind::ClientCredentials), true),
            "refresh" => self.refresh(),
            "introspection" => self.introspection(),
            "authorization-code" => {
                let mut parts = self.tokens(GrantKind::AuthorizationCode, Unless::Never)?;
                if self.parameters.replay {
                    parts.push(Box::new(Replay::new(Grant::Code, self.token_url()?)));
                }
                Ok(parts)
            }
            "userinfo" => {
                let grant = self.grant(GrantKind::Password);
                let mut parts = self.tokens(grant, Unless::HasAccess)?;
                let url = self.endpoint("userinfo", self.target.endpoints.userinfo.as_ref())?;
                parts.push(Box::new(Userinfo::new(url)));
                Ok(parts)
            }
            "logout" => self.logout(),
            "clients" => self.clients(),
            "discovery" => {
                let url = self.target.discovery.clone();
                let url = url.ok_or_else(|| self.lacks("a discovery document"))?;
                Ok(vec![Box::new(Document::Discovery(url))])
            }
            _ => {
                let url = self.endpoint("jwks", self.target.endpoints.jwks.as_ref())?;
                Ok(vec![Box::new(Document::Keys(url))])
            }
        }
    }

    fn only_token(&self, grant: Grant) -> Result<Parts, BadScenario> {
        let request = TokenRequest::new(grant, self.token_url()?, Unless::Never, self.parameters);
        Ok(vec![Box::new(request.without_keeping())])
    }

    /// What gets the tokens that a flow goes on with.
    fn tokens(&self, grant: GrantKind, unless: Unless) -> Result<Parts, BadScenario> {
        let url = self.token_url()?;
        let request = |grant, unless| -> Box<dyn Part> {
            Box::new(TokenRequest::new(
                grant,
                url.clone(),
                unless,
                self.parameters,
            ))
        };
        Ok(match grant {
            GrantKind::ClientCredentials => vec![request(Grant::ClientCredentials, unless)],
            GrantKind::Password => vec![request(Grant::Password, unless)],
            GrantKind::AuthorizationCode => {
                // Without a new code there is no request for tokens either.
                vec![self.authorize(unless)?, request(Grant::Code, Unless::Never)]
            }
        })
    }

    fn authorize(&self, unless: Unless) -> Result<Box<dyn Part>, BadScenario> {
        let url = self.endpoint(
            "authorization",
            self.target.endpoints.authorization.as_ref(),
        )?;
        let stages = &self.target.file.login;
        let browser = Browser::new("authorize", stages, self.target.origins(stages));
        let find = |name: &String| {
            browser.find(name).ok_or_else(|| {
                let known: Vec<&str> = stages
                    .stages
                    .iter()
                    .map(|stage| stage.name.as_str())
                    .collect();
                let known = known.join(", ");
                self.value(format!(
                    "expect names {name:?}; the login of the target has {known}"
                ))
            })
        };
        let expect = self
            .parameters
            .expect
            .iter()
            .map(find)
            .collect::<Result<_, _>>()?;
        Ok(Box::new(Authorize::new(url, unless, browser, expect)))
    }

    fn refresh(&self) -> Result<Parts, BadScenario> {
        let mut parts = self.tokens(self.grant(GrantKind::Password), Unless::HasRefresh)?;
        let url = self.token_url()?;
        let request =
            TokenRequest::new(Grant::Refresh, url.clone(), Unless::Never, self.parameters);
        parts.push(Box::new(request));
        if self.parameters.replay {
            parts.push(Box::new(Replay::new(Grant::Refresh, url)));
        }
        Ok(parts)
    }

    fn introspection(&self) -> Result<Parts, BadScenario> {
        let url = self.introspection_url()?;
        let mut parts = Parts::new();
        if self.parameters.token.is_none() {
            let grant = self.grant(GrantKind::ClientCredentials);
            parts = self.tokens(grant, Unless::HasAccess)?;
        }
        parts.push(Box::new(Introspect::new(url, self.parameters.active)));
        Ok(parts)
    }

    fn revocation(&self, grant: GrantKind, verify: bool) -> Result<Parts, BadScenario> {
        let mut parts = self.tokens(grant, Unless::Never)?;
        let url = self.endpoint("revocation", self.target.endpoints.revocation.as_ref())?;
        parts.push(Box::new(Revoke::new(url)));
        if self.parameters.verify.unwrap_or(verify) {
            parts.push(Box::new(Introspect::new(self.introspection_url()?, false)));
        }
        Ok(parts)
    }

    fn logout(&self) -> Result<Parts, BadScenario> {
        let mut parts = self.tokens(GrantKind::AuthorizationCode, Unless::Never)?;
        let url = self.endpoint("end_session", self.target.endpoints.end_session.as_ref())?;
        let stages = &self.target.file.logout;
        let browser = Browser::new("logout", stages, self.target.origins(stages));
        parts.push(Box::new(Logout::new(url, browser)));
        Ok(parts)
    }

    fn clients(&self) -> Result<Parts, BadScenario> {
        let what = "[admin.clients] with a `create`";
        let admin = self.target.file.admin.as_ref();
        let admin = admin.ok_or_else(|| self.lacks(what))?;
        let clients = admin
            .clients
            .as_ref()
            .filter(|clients| clients.create.is_some());
        let clients = clients.ok_or_else(|| self.lacks(what))?;
        let mut parts = Parts::new();
        if let Some(sign_in) = SignIn::new(&admin.auth) {
            parts.push(Box::new(sign_in));
        }
        parts.push(Box::new(create(clients)));
        let pointer = clients
            .answer
            .get("client_id")
            .filter(|place| place.starts_with('/'));
        let client = pointer.map_or(Expects::Json, |pointer| Expects::Client(pointer.clone()));
        let gone = clients
            .get
            .as_ref()
            .filter(|_| self.parameters.verify.unwrap_or(false));
        for (step, operation, expects) in [
            ("get", clients.get.as_ref(), client),
            ("list", clients.list.as_ref(), Expects::Json),
            ("update", clients.update.as_ref(), Expects::Success),
            ("delete", clients.delete.as_ref(), Expects::Success),
            (
                "gone",
                gone.filter(|_| clients.delete.is_some()),
                Expects::Gone,
            ),
        ] {
            if let Some(operation) = operation {
                parts.push(Box::new(Handle::new(step, operation.clone(), expects)));
            }
        }
        Ok(parts)
    }

    fn grant(&self, default: GrantKind) -> GrantKind {
        self.parameters.grant.unwrap_or(default)
    }

    fn token_url(&self) -> Result<Url, BadScenario> {
        self.endpoint("token", self.target.endpoints.token.as_ref())
    }

    fn introspection_url(&self) -> Result<Url, BadScenario> {
        self.endpoint(
            "introspection",
            self.target.endpoints.introspection.as_ref(),
        )
    }

    fn endpoint(&self, endpoint: &'static str, url: Option<&Url>) -> Result<Url, BadScenario> {
        url.cloned().ok_or_else(|| BadScenario::Endpoint {
            flow: self.flow,
            endpoint,
            target: self.target.file.name.clone(),
        })
    }

    fn lacks(&self, what: &'static str) -> BadScenario {
        BadScenario::Lacks {
            flow: self.flow,
            what,
            target: self.target.file.name.clone(),
        }
    }

    fn value(&self, message: String) -> BadScenario {
        BadScenario::Value {
            flow: self.flow,
            message,
        }
    }
}

fn create(clients: &Clients) -> Create {
    let names = vec![
        ("client_id", clients.client_id.clone()),
        ("client_secret", clients.client_secret.clone()),
    ];
    Create::new(clients.create.clone(), names, clients.answer.clone())
}
