//! The admin interface of a running server: the token, the requests, and what a refusal means.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::Full;
use serde_json::Value;
use zeroize::Zeroizing;

use super::args::{AdminArgs, Endpoint};
use super::console::Console;
use super::error::CliError;
use super::wire::{Answer, Wire};

/// The value of a variable of the environment.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Option<OsString>;

/// How long an ordinary answer may take: a slow hash may have to wait for its turn.
const PATIENCE: Duration = Duration::from_mins(1);
/// How long it may take to remove all that has expired.
const LONG_PATIENCE: Duration = Duration::from_hours(1);

/// What is sent with a request.
#[derive(Debug)]
pub(super) enum Body<'a> {
    /// Nothing.
    None,
    /// A JSON document.
    Json(&'a Value),
    /// A form, encoded already.
    Form(String),
    /// JSON objects, one a line.
    Lines(String),
}

/// The admin interface of a server.
pub(super) struct Admin {
    wire: Wire,
    authorization: HeaderValue,
    token_file: PathBuf,
}

impl Admin {
    /// Finds out which server is meant, and reads its token. Nothing is sent yet.
    pub(super) fn open(
        args: &AdminArgs,
        env: Lookup<'_>,
        console: &mut Console<'_>,
    ) -> Result<Self, CliError> {
        let endpoint = endpoint(args.admin.as_ref(), env, ADMIN_URL)?;
        let token_file = token_file(args, env);
        let authorization = authorization(&token_file)?;
        warn_where_exposed(&endpoint, "admin token", console);
        let authorities = args.output.cacert.as_ref();
        let wire = Wire::new(endpoint, "--admin or SIGNET_ADMIN_URL", authorities)?;
        Ok(Self {
            wire,
            authorization,
            token_file,
        })
    }

    /// The same interface on a connection of its own.
    pub(super) fn another(&self) -> Self {
        Self {
            wire: self.wire.another(),
            authorization: self.authorization.clone(),
            token_file: self.token_file.clone(),
        }
    }

    pub(super) async fn get(&mut self, path: &str) -> Result<Value, CliError> {
        self.call(Method::GET, path, Body::None).await
    }

    pub(super) async fn post(&mut self, path: &str, body: Body<'_>) -> Result<Value, CliError> {
        self.call(Method::POST, path, body).await
    }

    /// Sends a request; a refusal is an error.
    pub(super) async fn call(
        &mut self,
        method: Method,
        path: &str,
        body: Body<'_>,
    ) -> Result<Value, CliError> {
        self.call_if(None, method, path, body).await
    }

    /// Sends a request that is to be carried out only at a version of its object.
    pub(super) async fn call_if(
        &mut self,
        version: Option<u64>,
        method: Method,
        path: &str,
        body: Body<'_>,
    ) -> Result<Value, CliError> {
        let patience = if path == FLUSH {
            LONG_PATIENCE
        } else {
            PATIENCE
        };
        let mut request = request(method, &self.wire.endpoint().path(path), body)?;
        let headers = request.headers_mut();
        headers.insert(header::AUTHORIZATION, self.authorization.clone());
        if let Some(version) = version
            && let Ok(tag) = HeaderValue::from_str(&format!("\"{version}\""))
        {
            headers.insert(header::IF_MATCH, tag);
        }
        let answer = self.wire.send(request, patience).await?;
        self.read(&answer)
    }

    fn read(&self, answer: &Answer) -> Result<Value, CliError> {
        let endpoint = self.wire.endpoint();
        let refused = match read(endpoint, "admin", answer) {
            Err(CliError::Refused {
                status: 401,
                description,
                ..
            }) => CliError::Unauthorized {
                endpoint: endpoint.to_string(),
                token_file: self.token_file.clone(),
                description,
            },
            other => return other,
        };
        Err(refused)
    }
}

/// Where the admin interface is: an argument, a variable, or the default.
pub(super) const ADMIN_URL: (&str, &str) = ("SIGNET_ADMIN_URL", "http://127.0.0.1:4445");
/// Where the public interface is.
pub(super) const PUBLIC_URL: (&str, &str) = ("SIGNET_ISSUER", "http://127.0.0.1:4444");
/// Where what has expired is removed.
pub(super) const FLUSH: &str = "/admin/oauth2/flush";

/// Where the server is: what was said, or else the variable, or else the default.
pub(super) fn endpoint(
    said: Option<&Endpoint>,
    env: Lookup<'_>,
    (variable, default): (&str, &str),
) -> Result<Endpoint, CliError> {
    if let Some(said) = said {
        return Ok(said.clone());
    }
    let url = env(variable).unwrap_or_else(|| default.into());
    let parsed = Endpoint::parse(&url.to_string_lossy());
    parsed.map_err(|fault| CliError::Usage(format!("{variable}: {fault}")))
}

/// Says so when a secret could be read on its way.
pub(super) fn warn_where_exposed(endpoint: &Endpoint, what: &str, console: &mut Console<'_>) {
    if endpoint.is_exposed() {
        console.hint(format!(
            "warning: the {what} travels to {endpoint} without encryption; use https, or a tunnel"
        ));
    }
}

fn token_file(args: &AdminArgs, env: Lookup<'_>) -> PathBuf {
    let named = args.token_file.clone();
    // A directory on the command line is meant more than a file in the environment.
    let said = args.data_dir.as_ref().map(|dir| dir.join("admin.token"));
    let named = named
        .or(said)
        .or_else(|| env("SIGNET_ADMIN_TOKEN_FILE").map(PathBuf::from));
    named.unwrap_or_else(|| {
        let dir = env("SIGNET_DATA_DIR").unwrap_or_else(|| "data".into());
        Path::new(&dir).join("admin.token")
    })
}

fn authorization(token_file: &Path) -> Result<HeaderValue, CliError> {
    let bad = |cause: String| CliError::NoToken {
        path: token_file.to_owned(),
        cause,
    };
    let text = fs::read_to_string(token_file).map_err(|fault| bad(fault.to_string()))?;
    let text = Zeroizing::new(text);
    if text.trim().is_empty() {
        return Err(bad("it is empty".to_owned()));
    }
    let value = Zeroizing::new(format!("Bearer {}", text.trim()));
    let mut value = HeaderValue::from_str(&value)
        .map_err(|_| bad("it holds something that cannot be a token".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

/// A request for a path.
pub(super) fn request(
    method: Method,
    path: &str,
    body: Body<'_>,
) -> Result<Request<Full<Bytes>>, CliError> {
    let (kind, bytes) = match body {
        Body::None => (None, Bytes::new()),
        Body::Json(value) => (Some("application/json"), Bytes::from(value.to_string())),
        Body::Form(text) => (Some("application/x-www-form-urlencoded"), Bytes::from(text)),
        Body::Lines(text) => (Some("application/x-ndjson"), Bytes::from(text)),
    };
    let request = Request::builder().method(method).uri(path);
    let request = match kind {
        Some(kind) => request.header(header::CONTENT_TYPE, kind),
        None => request,
    };
    let request = request
        .header(header::ACCEPT, "application/json")
        .header(
            header::USER_AGENT,
            concat!("signet-cli/", env!("CARGO_PKG_VERSION")),
        )
        .body(Full::new(bytes));
    request.map_err(|fault| CliError::Failed(format!("{path}: {fault}")))
}

/// The document of an answer, or what the refusal says.
pub(super) fn read(
    endpoint: &Endpoint,
    listener: &'static str,
    answer: &Answer,
) -> Result<Value, CliError> {
    let status = answer.status;
    if status == StatusCode::NO_CONTENT {
        return Ok(Value::Null);
    }
    let foreign = || CliError::Foreign {
        endpoint: endpoint.to_string(),
        status: status.as_u16(),
        listener,
    };
    let value: Value = serde_json::from_slice(&answer.body).map_err(|_| foreign())?;
    if status.is_success() {
        return Ok(value);
    }
    let text = |name| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let code = text("error").ok_or_else(foreign)?;
    let mut description = text("error_description").unwrap_or_else(|| code.clone());
    if let Some(seconds) = answer.retry_after.filter(|_| status.is_server_error()) {
        description = format!("{description} (in {seconds} s)");
    }
    Err(CliError::Refused {
        status: status.as_u16(),
        code,
        description,
    })
}

/// A path with a name from the command line in it: `segment` may hold anything, `/` included.
pub(super) fn path(before: &str, segment: &str, after: &str) -> String {
    format!("{before}{}{after}", escape(segment))
}

/// Percent-encoded (RFC 3986 §2.1). Dots, too: the names `.` and `..` would be other paths.
fn escape(segment: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'~');
    if segment.bytes().all(is_plain) {
        return Cow::Borrowed(segment);
    }
    let escape = |byte: u8| {
        if is_plain(byte) {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    segment.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_one_segment_of_the_path() {
        for (id, expected) in [
            ("shop", "/admin/clients/shop/tokens"),
            ("a/b?c#d%", "/admin/clients/a%2Fb%3Fc%23d%25/tokens"),
            ("..", "/admin/clients/%2E%2E/tokens"),
        ] {
            assert_eq!(path("/admin/clients/", id, "/tokens"), expected);
        }
    }

    #[test]
    fn the_token_is_looked_for_where_the_user_says_first() {
        let args = |file: Option<&str>, dir: Option<&str>| AdminArgs {
            token_file: file.map(PathBuf::from),
            data_dir: dir.map(PathBuf::from),
            ..AdminArgs::default()
        };
        let nothing = |_: &str| None;
        let both = |name: &str| match name {
            "SIGNET_ADMIN_TOKEN_FILE" => Some(OsString::from("env.token")),
            "SIGNET_DATA_DIR" => Some(OsString::from("envdir")),
            _ => None,
        };
        let dir = |name: &str| both(name).filter(|_| name == "SIGNET_DATA_DIR");
        for (args, env, expected) in [
            (args(None, None), &nothing as Lookup<'_>, "data/admin.token"),
            (args(None, None), &dir, "envdir/admin.token"),
            (args(None, None), &both, "env.token"),
            (args(None, Some("said")), &both, "said/admin.token"),
            (args(Some("f"), Some("said")), &both, "f"),
        ] {
            assert_eq!(token_file(&args, env), Path::new(expected));
        }
    }

    #[test]
    fn refusals_are_told_from_strangers() {
        let endpoint = Endpoint::parse("http://127.0.0.1:1").unwrap();
        let answer = |status: u16, body: &'static str| Answer {
            status: StatusCode::from_u16(status).unwrap(),
            retry_after: Some(2).filter(|_| status == 503),
            body: Bytes::from_static(body.as_bytes()),
        };
        let read = |status, body| read(&endpoint, "admin", &answer(status, body));
        assert_eq!(read(204, "").unwrap(), Value::Null);
        let error = read(
            404,
            r#"{"error":"not_found","error_description":"no such client"}"#,
        );
        assert_eq!(error.unwrap_err().to_string(), "no such client (not_found)");
        let busy = read(
            503,
            r#"{"error":"temporarily_unavailable","error_description":"busy"}"#,
        );
        assert_eq!(
            busy.unwrap_err().to_string(),
            "busy (in 2 s) (temporarily_unavailable)"
        );
        let stranger = read(200, "<html>").unwrap_err().to_string();
        assert!(stranger.contains("not Signet's (HTTP 200)"), "{stranger}");
    }
}
