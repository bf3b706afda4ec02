//! A browser without a screen: it keeps cookies, follows redirects within the issuer, and fills in
//! forms. What leads away from the issuer is handed to the test, which plays the client.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::http::{Answer, Call, escape};
use super::{ISSUER, Server};

/// Redirects that are followed before a test hears of a loop.
const HOPS: usize = 20;

/// A browser and its cookies.
#[derive(Clone, Debug)]
pub(crate) struct Browser {
    to: SocketAddr,
    pub(crate) cookies: BTreeMap<String, String>,
    /// Every `Set-Cookie` that came, as it came.
    pub(crate) set: Vec<String>,
    /// Where it is: path and query.
    pub(crate) at: String,
    /// How many answers it has had.
    pub(crate) answers: usize,
}

/// Where a browser has got to.
#[derive(Debug)]
pub(crate) enum Stop {
    /// A page of the server.
    Page(Page),
    /// A redirect to somebody else.
    Away(String),
}

/// A page as a test reads it.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) answer: Answer,
    pub(crate) html: String,
    pub(crate) path: String,
}

impl Browser {
    /// A browser that has never been anywhere.
    pub(crate) fn new(server: &Server) -> Self {
        Self {
            to: server.running.as_ref().unwrap().public,
            cookies: BTreeMap::new(),
            set: Vec::new(),
            at: "/".to_owned(),
            answers: 0,
        }
    }

    /// The same browser, whose name server points to another node now.
    pub(crate) fn moved_to(&mut self, node: &Server) {
        self.to = node.running.as_ref().unwrap().public;
    }

    /// One request without following anything.
    pub(crate) async fn send(&mut self, call: Call) -> Answer {
        let cookies: Vec<String> = self
            .cookies
            .iter()
            .map(|(n, v)| format!("{n}={v}"))
            .collect();
        let call = if cookies.is_empty() {
            call
        } else {
            call.header("cookie", &cookies.join("; "))
        };
        let answer = call.header("accept-language", "en").await;
        self.answers += 1;
        for line in answer.headers.get_all("set-cookie") {
            self.keep(line.to_str().unwrap());
        }
        answer
    }

    fn keep(&mut self, line: &str) {
        self.set.push(line.to_owned());
        let (pair, attributes) = line.split_once(';').unwrap_or((line, ""));
        let (name, value) = pair.split_once('=').unwrap();
        let gone = attributes.to_ascii_lowercase().contains("max-age=0");
        if gone || value.is_empty() {
            self.cookies.remove(name);
        } else {
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
    }

    /// A call to the server that this browser speaks to.
    pub(crate) fn call(&self, method: &str, url: &str) -> Call {
        Call::new(self.to, method, local(url).unwrap_or(url))
    }

    /// Opens an address and follows where it leads.
    pub(crate) async fn open(&mut self, url: &str) -> Stop {
        let answer = self.send(self.call("GET", url)).await;
        self.at = local(url).unwrap_or(url).to_owned();
        self.follow(answer).await
    }

    /// Sends a form and follows where that leads.
    pub(crate) async fn post(&mut self, url: &str, form: &[(&str, &str)]) -> Stop {
        let answer = self.send(self.call("POST", url).form(form)).await;
        assert!(
            !matches!(answer.status, 301 | 302 | 307 | 308),
            "what follows a POST is 303: {}",
            answer.text()
        );
        self.at = local(url).unwrap_or(url).to_owned();
        self.follow(answer).await
    }

    async fn follow(&mut self, mut answer: Answer) -> Stop {
        for _ in 0..HOPS {
            if !matches!(answer.status, 301..=303) {
                let html = String::from_utf8_lossy(&answer.body).into_owned();
                let path = self.at.clone();
                return Stop::Page(Page { answer, html, path });
            }
            let location = answer.header("location").to_owned();
            let Some(inside) = local(&location).map(str::to_owned) else {
                return Stop::Away(location);
            };
            answer = self.send(self.call("GET", &inside)).await;
            self.at = inside;
        }
        panic!("a loop of redirects: {}", self.at);
    }

    /// Submits the form of a page: its hidden fields and these.
    pub(crate) async fn submit(&mut self, page: &Page, fields: &[(&str, &str)]) -> Stop {
        let form = page.form(fields);
        let form: Vec<_> = form.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        self.post(&page.action(), &form).await
    }

    /// Types a name and a password into the login page.
    pub(crate) async fn log_in(&mut self, page: &Page, name: &str, password: &str) -> Stop {
        assert!(
            page.path.starts_with("/ui/login"),
            "not the login page: {page:?}"
        );
        let fields = [
            ("username", name),
            ("password", password),
            ("action", "login"),
        ];
        self.submit(page, &fields).await
    }

    /// Allows everything that the consent page asks for.
    pub(crate) async fn allow(&mut self, page: &Page) -> Stop {
        assert!(
            page.path.starts_with("/ui/consent"),
            "not the consent page: {page:?}"
        );
        let ticked = page.ticked();
        let mut fields: Vec<(&str, &str)> = ticked
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        fields.push(("action", "allow"));
        self.submit(page, &fields).await
    }
}

/// The path of an address at the issuer.
fn local(url: &str) -> Option<&str> {
    match url.strip_prefix(ISSUER) {
        Some(path) if path.starts_with('/') => Some(path),
        _ if url.starts_with('/') && !url.starts_with("//") => Some(url),
        _ => None,
    }
}

impl Stop {
    /// The page; panics where the server sent the browser away.
    pub(crate) fn page(self) -> Page {
        match self {
            Self::Page(page) => page,
            Self::Away(url) => panic!("sent away to {url}"),
        }
    }

    /// The address; panics where the server showed a page.
    pub(crate) fn away(self) -> String {
        match self {
            Self::Away(url) => url,
            Self::Page(page) => panic!("a page: {} {}", page.path, page.html),
        }
    }

    /// The parameters that the client is handed, from query or fragment; panics where both or
    /// neither are there.
    pub(crate) fn handed(self) -> BTreeMap<String, String> {
        let url = self.away();
        let (address, fragment) = url.split_once('#').unwrap_or((&url, ""));
        let (_, query) = address.split_once('?').unwrap_or((address, ""));
        assert!(
            query.is_empty() || fragment.is_empty(),
            "query and fragment: {url}"
        );
        pairs(if query.is_empty() { fragment } else { query })
    }
}

/// The decoded pairs of a query; panics where one is repeated.
pub(crate) fn pairs(text: &str) -> BTreeMap<String, String> {
    let mut pairs = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(text.as_bytes()) {
        let before = pairs.insert(name.into_owned(), value.into_owned());
        assert_eq!(before, None, "a parameter is repeated: {text}");
    }
    pairs
}

/// A query of these pairs.
pub(crate) fn query(pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(n, v)| format!("{n}={}", escape(v)))
        .collect();
    pairs.join("&")
}

impl Page {
    /// Whether there is an element of this id.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.tag(id).is_some()
    }

    /// The text of the element of this id, without the tags in it.
    pub(crate) fn text_of(&self, id: &str) -> String {
        let tag = self
            .tag(id)
            .unwrap_or_else(|| panic!("no #{id} in {}", self.html));
        let name: String = tag[1..]
            .chars()
            .take_while(char::is_ascii_alphanumeric)
            .collect();
        let after = &self.html[self.html.find(tag).unwrap() + tag.len()..];
        let inner = after.split(&format!("</{name}>")).next().unwrap();
        let mut text = String::new();
        let mut inside = true;
        for c in inner.chars() {
            match c {
                '<' => inside = false,
                '>' => inside = true,
                c if inside => text.push(c),
                _ => {}
            }
        }
        unescape(text.trim())
    }

    /// The value of the input of this id.
    pub(crate) fn value_of(&self, id: &str) -> String {
        attribute(
            self.tag(id)
                .unwrap_or_else(|| panic!("no #{id} in {}", self.html)),
            "value",
        )
        .unwrap_or_default()
    }

    fn tag(&self, id: &str) -> Option<&str> {
        tags(&self.html).find(|tag| attribute(tag, "id").as_deref() == Some(id))
    }

    /// Where its form goes to.
    pub(crate) fn action(&self) -> String {
        let form = tags(&self.html).find(|tag| tag.starts_with("<form"));
        attribute(
            form.unwrap_or_else(|| panic!("no form in {}", self.html)),
            "action",
        )
        .unwrap()
    }

    /// The hidden fields of its form.
    pub(crate) fn hidden(&self) -> Vec<(String, String)> {
        let hidden = tags(&self.html)
            .filter(|tag| attribute(tag, "type").as_deref() == Some("hidden"))
            .map(|tag| {
                let value = attribute(tag, "value").unwrap_or_default();
                (attribute(tag, "name").unwrap(), value)
            });
        hidden.collect()
    }

    /// The boxes that are ticked when the page opens.
    pub(crate) fn ticked(&self) -> Vec<(String, String)> {
        let boxes = tags(&self.html).filter(|tag| {
            attribute(tag, "type").as_deref() == Some("checkbox") && tag.contains(" checked")
        });
        let pair = |tag| {
            (
                attribute(tag, "name").unwrap(),
                attribute(tag, "value").unwrap(),
            )
        };
        boxes.map(pair).collect()
    }

    /// The hidden fields, and these.
    pub(crate) fn form(&self, fields: &[(&str, &str)]) -> Vec<(String, String)> {
        let more = fields
            .iter()
            .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
        self.hidden().into_iter().chain(more).collect()
    }

    /// The sealed state in its form.
    pub(crate) fn flow(&self) -> String {
        let found = self.hidden().into_iter().find(|(name, _)| name == "flow");
        found
            .unwrap_or_else(|| panic!("no flow in {}", self.html))
            .1
    }
}

fn tags(html: &str) -> impl Iterator<Item = &str> {
    html.match_indices('<').filter_map(|(at, _)| {
        let rest = &html[at..];
        rest.find('>').map(|end| &rest[..=end])
    })
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    let value = tag[start..].split('"').next()?;
    Some(unescape(value))
}

fn unescape(text: &str) -> String {
    let mut out = text.to_owned();
    for (from, to) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#x27;", "'"),
        ("&#39;", "'"),
        ("&#x2f;", "/"),
        ("&amp;", "&"),
    ] {
        out = out.replace(from, to);
    }
    out
}

/// A PKCE verifier and its challenge (RFC 7636 §4).
pub(crate) fn pkce(seed: &str) -> (String, String) {
    let verifier = URL_SAFE_NO_PAD.encode(digest(seed.as_bytes()));
    let challenge = URL_SAFE_NO_PAD.encode(digest(verifier.as_bytes()));
    (verifier, challenge)
}

/// SHA-256.
pub(crate) fn digest(bytes: &[u8]) -> [u8; 32] {
    signet_oauth::secret::Digest::of(bytes).0
}
