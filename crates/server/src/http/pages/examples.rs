//! Every page, filled in: what the operator's templates are tried out with before the server
//! serves, and what the browser tests look at.

use axum::response::Response;
use signet_oauth::time::Timestamp;
use signet_oauth::{Error, ErrorCode};

use super::views::{
    AccountNotice, AccountView, ApplicationView, ClientView, ConsentView, ErrorKind, ErrorView,
    FieldView, FormPostView, LoginNotice, LoginView, LogoutView, ScopeView, SessionView,
    SignedOutView, View,
};
use super::{Locale, Pages, PagesError};
use crate::flow::Fault;

/// Renders a page.
pub type Render = Box<dyn Fn(&Pages, Locale) -> Result<Response, PagesError> + Send + Sync>;

/// A page that is filled in.
pub struct Example {
    /// Letters, digits and hyphens.
    pub name: &'static str,
    /// Renders it.
    pub render: Render,
}

impl std::fmt::Debug for Example {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Example({})", self.name)
    }
}

fn example<V: View + Send + Sync + 'static>(name: &'static str, view: V) -> Example {
    let render = move |pages: &Pages, locale| pages.try_render(&view, locale);
    Example {
        name,
        render: Box::new(render),
    }
}

/// All of them: each template, with what is optional and without. The application in them is at
/// this origin.
pub fn all(origin: &str) -> Vec<Example> {
    let site = Site(origin);
    [
        logins(site),
        consents(site),
        exits(site),
        errors(site),
        accounts(site),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The application.
#[derive(Clone, Copy)]
struct Site<'a>(&'a str);

impl Site<'_> {
    fn at(self, path: &str) -> String {
        format!("{}{path}", self.0)
    }

    fn client(self) -> ClientView {
        ClientView::new("Acme Billing")
            .policy(Some(&self.at("/privacy")))
            .tos(Some(&self.at("/terms")))
    }

    fn client_with_logo(self) -> ClientView {
        self.client().logo(Some(&self.at("/logo.svg")))
    }

    fn callback(self) -> String {
        self.at("/callback")
    }
}

fn logins(site: Site<'_>) -> Vec<Example> {
    let login = |notice| LoginView {
        client: Some(site.client()),
        flow: "sealed".to_owned(),
        username: String::new(),
        notice,
        cancel: true,
        onward: Some(site.callback()),
    };
    let known = |notice| LoginView {
        username: "maria@example.com".to_owned(),
        ..login(Some(notice))
    };
    let logo = LoginView {
        client: Some(site.client_with_logo()),
        ..login(None)
    };
    let account = LoginView {
        client: None,
        cancel: false,
        onward: None,
        ..login(None)
    };
    vec![
        example("login", login(None)),
        example("login-logo", logo),
        example("login-account", account),
        example("login-wrong", known(LoginNotice::Wrong)),
        example("login-missing", login(Some(LoginNotice::Missing))),
        example("login-locked", known(LoginNotice::Locked)),
        example("login-wait-seconds", known(LoginNotice::Wait(1))),
        example("login-wait", known(LoginNotice::Wait(840))),
        example("login-expired", login(Some(LoginNotice::Expired))),
        example("login-again", known(LoginNotice::Again)),
        example("login-busy", known(LoginNotice::Busy)),
        example("login-changed", known(LoginNotice::PasswordChanged)),
    ]
}

/// Every kind of scope: texts with and without details, the operator's own, and none.
fn scopes() -> Vec<ScopeView> {
    let mut scopes: Vec<ScopeView> = ["openid", "profile", "email", "offline_access"]
        .map(ScopeView::new)
        .into();
    scopes.push(ScopeView {
        description: Some("Create and send invoices in your name".to_owned()),
        ..ScopeView::new("invoices:write")
    });
    scopes.push(ScopeView::new("reports:read"));
    scopes
}

fn consents(site: Site<'_>) -> Vec<Example> {
    let consent = ConsentView {
        client: site.client(),
        flow: "sealed".to_owned(),
        user: "maria@example.com".to_owned(),
        scopes: scopes(),
        rememberable: true,
        onward: Some(site.callback()),
    };
    let mut optional = ConsentView {
        client: site.client_with_logo(),
        ..consent.clone()
    };
    for scope in optional.scopes.iter_mut().skip(1) {
        scope.optional = true;
    }
    let all = ["openid", "profile", "email", "address", "phone"];
    let once = ConsentView {
        client: ClientView::new(
            "An application with a name that is much longer than any name ought to be",
        ),
        scopes: all.map(ScopeView::new).into(),
        rememberable: false,
        ..consent.clone()
    };
    vec![
        example("consent", consent),
        example("consent-optional", optional),
        example("consent-once", once),
    ]
}

fn exits(site: Site<'_>) -> Vec<Example> {
    let logout = LogoutView {
        client: Some(site.client()),
        user: Some("maria@example.com".to_owned()),
        flow: "sealed".to_owned(),
        onward: Some(site.callback()),
    };
    let unasked = LogoutView {
        client: None,
        user: None,
        onward: None,
        ..logout.clone()
    };
    let mut back = SignedOutView::new(false).back(&site.at("/"));
    back.client = Some(site.client());
    let field = |name: &str, value: &str| FieldView {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let form_post = FormPostView {
        client: site.client(),
        action: site.callback(),
        fields: vec![field("code", "scd_<&\"'>"), field("state", "af0ifjsldkj")],
    };
    vec![
        example("logout", logout),
        example("logout-unasked", unasked),
        example("signed-out", SignedOutView::new(false)),
        example("signed-out-back", back),
        example(
            "signed-out-link",
            SignedOutView::new(false).back(&site.callback()),
        ),
        example("signed-out-not", SignedOutView::new(true)),
        example("form-post", form_post),
    ]
}

fn errors(site: Site<'_>) -> Vec<Example> {
    let error = |code, description: &'static str| {
        ErrorView::of(Error::new(code, description, "an_example"))
    };
    let request = || {
        let what = "redirect_uri is not one that this client has registered";
        error(ErrorCode::InvalidRequest, what)
    };
    let home = site.at("/");
    let back = Some(home.as_str());
    let found = |code| error(code, "an example");
    vec![
        example("error", request()),
        example(
            "error-back",
            request().client(Some(site.client())).back(back),
        ),
        example("error-link", request().back(back)),
        example("error-expired", request().kind(ErrorKind::Expired)),
        example("error-denied", found(ErrorCode::InsufficientScope)),
        example("error-missing", found(ErrorCode::NotFound)),
        example("error-busy", ErrorView::of(Fault::passing("an example"))),
        example("error-broken", ErrorView::of(Fault::lasting("an example"))),
    ]
}

fn accounts(site: Site<'_>) -> Vec<Example> {
    let session = |current, at, names: &[&str]| SessionView {
        token: "sealed".to_owned(),
        current,
        signed_in_at: Timestamp(at),
        expires_at: Timestamp(at + 2_592_000),
        applications: names.iter().map(|name| (*name).to_owned()).collect(),
    };
    let application = |client, scopes| ApplicationView {
        token: "sealed".to_owned(),
        client,
        scopes,
        granted_at: Timestamp(1_790_000_000),
    };
    let account = AccountView {
        user: "maria@example.com".to_owned(),
        notice: None,
        logout_token: "sealed".to_owned(),
        sessions: vec![
            session(true, 1_795_190_400, &["Acme Billing", "Wiki"]),
            session(false, 1_794_000_000, &[]),
        ],
        applications: vec![
            application(site.client_with_logo(), scopes()),
            application(ClientView::new("Wiki"), vec![ScopeView::new("openid")]),
        ],
        password_token: Some("sealed".to_owned()),
        password_length: 10,
    };
    let bare = AccountView {
        sessions: vec![session(true, 0, &[])],
        applications: Vec::new(),
        password_token: None,
        ..account.clone()
    };
    let noticed = [
        ("account-ended", AccountNotice::SessionEnded),
        ("account-withdrawn", AccountNotice::AccessWithdrawn),
        ("account-changed", AccountNotice::PasswordChanged),
        ("account-wrong", AccountNotice::PasswordWrong),
        ("account-differs", AccountNotice::PasswordDiffers),
        ("account-short", AccountNotice::PasswordShort),
        ("account-expired", AccountNotice::Expired),
        ("account-wait", AccountNotice::Wait),
        ("account-busy", AccountNotice::Busy),
    ];
    let noticed = noticed.map(|(name, notice)| {
        let notice = Some(notice);
        example(
            name,
            AccountView {
                notice,
                ..account.clone()
            },
        )
    });
    let plain = [example("account", account), example("account-bare", bare)];
    plain.into_iter().chain(noticed).collect()
}
