//! Headless Chromium, driven through chromedriver. Its protocol (`WebDriver`, W3C) is JSON over HTTP,
//! which the client of these tests speaks already; a crate for it would bring a second one.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use super::http::Call;
use super::{aside, until};

/// The name under which the protocol hands out elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser of its own: no cookie or cache is shared with another.
pub(crate) struct Browser {
    driver: Child,
    at: SocketAddr,
    session: String,
    profile: tempfile::TempDir,
}

/// Something that the accessibility engine found.
#[derive(Debug)]
pub(crate) struct Violation {
    #[expect(dead_code, reason = "printed by a test that fails")]
    pub(crate) rule: String,
    #[expect(dead_code, reason = "printed by a test that fails")]
    pub(crate) places: Vec<String>,
}

impl Browser {
    /// Starts one; panics where there is none (`make test` installs it).
    pub(crate) async fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let (driver, at) = aside(start_driver);
        let mut browser = Self {
            driver,
            at,
            session: String::new(),
            profile,
        };
        let data = browser.profile.path().display().to_string();
        let mut arguments: Vec<String> = [
            "--headless=new",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
            "--hide-scrollbars",
            "--lang=en",
        ]
        .map(str::to_owned)
        .into();
        arguments.push(format!("--user-data-dir={data}"));
        if rustix::process::geteuid().is_root() {
            arguments.push("--no-sandbox".to_owned()); // the sandbox refuses root
        }
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "acceptInsecureCerts": true,
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let answer = browser.ask("POST", "/session", &wanted).await;
        answer["sessionId"]
            .as_str()
            .unwrap()
            .clone_into(&mut browser.session);
        browser
    }

    async fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let answer = self.try_ask(method, path, body).await;
        answer.unwrap_or_else(|error| panic!("{method} {path} {body:.300}: {error}"))
    }

    /// What the driver answers, or what it complains about.
    async fn try_ask(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let call = Call::new(self.at, method, path).header("host", "localhost");
        let call = if body.is_null() {
            call
        } else {
            call.json(body)
        };
        let answer = call.attempt().await?;
        let value = answer.json()["value"].take();
        match answer.status {
            200 => Ok(value),
            _ => Err(value["message"].as_str().unwrap_or_default().to_owned()),
        }
    }

    async fn command(&self, path: &str, body: &Value) -> Value {
        let path = format!("/session/{}/{path}", self.session);
        self.ask("POST", &path, body).await
    }

    async fn query(&self, path: &str) -> Value {
        let path = format!("/session/{}/{path}", self.session);
        self.ask("GET", &path, &Value::Null).await
    }

    /// Opens a page and waits until it is there.
    pub(crate) async fn open(&self, url: &str) {
        self.command("url", &json!({"url": url})).await;
    }

    /// The address of the page.
    pub(crate) async fn url(&self) -> String {
        self.query("url").await.as_str().unwrap().to_owned()
    }

    /// Waits until the address contains this.
    pub(crate) async fn arrives_at(&self, part: &str) {
        until(&format!("the browser at {part}"), async || {
            self.url().await.contains(part)
        })
        .await;
    }

    /// The title of the page.
    pub(crate) async fn title(&self) -> String {
        self.query("title").await.as_str().unwrap().to_owned()
    }

    async fn find(&self, id: &str) -> Option<String> {
        let path = format!("/session/{}/element", self.session);
        let by = json!({"using": "css selector", "value": format!("[id='{id}']")});
        let found = self.try_ask("POST", &path, &by).await.ok()?;
        found[ELEMENT].as_str().map(str::to_owned)
    }

    async fn element(&self, id: &str) -> String {
        let found = self.find(id).await;
        match found {
            Some(element) => element,
            None => panic!("no element {id} at {}", self.url().await),
        }
    }

    /// Whether there is an element of this id.
    pub(crate) async fn has(&self, id: &str) -> bool {
        self.find(id).await.is_some()
    }

    /// What a person reads in the element of this id.
    pub(crate) async fn text(&self, id: &str) -> String {
        let element = self.element(id).await;
        let text = self.query(&format!("element/{element}/text")).await;
        text.as_str().unwrap().to_owned()
    }

    /// Clicks the element of this id, as a person does: it must be visible.
    pub(crate) async fn click(&self, id: &str) {
        let element = self.element(id).await;
        self.command(&format!("element/{element}/click"), &json!({}))
            .await;
    }

    /// Replaces what stands in a field.
    pub(crate) async fn enter(&self, id: &str, text: &str) {
        let element = self.element(id).await;
        self.command(&format!("element/{element}/clear"), &json!({}))
            .await;
        self.command(&format!("element/{element}/value"), &json!({"text": text}))
            .await;
    }

    /// Presses a key wherever the focus is.
    pub(crate) async fn press(&self, key: Key) {
        let key = key.code();
        let actions = json!({"actions": [{"type": "key", "id": "keyboard", "actions": [
            {"type": "keyDown", "value": key},
            {"type": "keyUp", "value": key},
        ]}]});
        self.command("actions", &actions).await;
    }

    /// Runs the body of a function in the page, whatever its policy says; what it returns.
    pub(crate) async fn run(&self, script: &str) -> Value {
        self.command("execute/sync", &json!({"script": script, "args": []}))
            .await
    }

    /// A command of the `DevTools` protocol.
    pub(crate) async fn devtools(&self, command: &str, parameters: Value) -> Value {
        let body = json!({"cmd": command, "params": parameters});
        self.command("goog/cdp/execute", &body).await
    }

    /// Makes the window so large.
    pub(crate) async fn resize(&self, width: u32, height: u32) {
        let metrics = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600
        });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)
            .await;
    }

    /// Sets what pages learn as `prefers-color-scheme`: `light` or `dark`.
    pub(crate) async fn prefer(&self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.devtools("Emulation.setEmulatedMedia", features).await;
    }

    /// Turns the scripts of pages on or off.
    pub(crate) async fn scripts(&self, on: bool) {
        let off = json!({"value": !on});
        self.devtools("Emulation.setScriptExecutionDisabled", off)
            .await;
    }

    /// Opens a page whose own scripts do not run.
    pub(crate) async fn open_still(&self, url: &str) {
        self.scripts(false).await;
        self.open(url).await;
        self.scripts(true).await;
    }

    /// What was written to the console since the last call: violations of the policy, too.
    pub(crate) async fn console(&self) -> Vec<String> {
        let entries = self.command("se/log", &json!({"type": "browser"})).await;
        let entries = entries.as_array().unwrap().iter();
        let line = |entry: &Value| format!("{} {}", entry["level"], entry["message"]);
        entries.map(line).collect()
    }

    /// Keeps a picture of the whole page, for people to look at.
    pub(crate) async fn keep_picture(&self, name: &str) {
        let whole = json!({"format": "png", "captureBeyondViewport": true});
        let taken = self.devtools("Page.captureScreenshot", whole).await;
        let png = STANDARD.decode(taken["data"].as_str().unwrap()).unwrap();
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .parent()
            .unwrap()
            .join("screenshots");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(format!("{name}.png")), png).unwrap();
    }

    /// What the accessibility engine finds: WCAG 2.2 A and AA, and its own best practices.
    pub(crate) async fn violations(&self) -> Vec<Violation> {
        if self.run("return typeof window.axe").await != "object" {
            self.run(axe()).await;
        }
        let script = "const done = arguments[arguments.length - 1];
            axe.run(document, { resultTypes: ['violations'] })
                .then(found => done(found.violations), error => done([{ id: String(error), nodes: [] }]));";
        let body = json!({"script": script, "args": []});
        let found = self.command("execute/async", &body).await;
        let places = |node: &Value| {
            let said = node["failureSummary"].as_str().unwrap_or_default();
            format!("{}: {said}", node["html"].as_str().unwrap_or_default())
        };
        let violation = |found: &Value| Violation {
            rule: found["id"].as_str().unwrap_or_default().to_owned(),
            places: found["nodes"]
                .as_array()
                .unwrap()
                .iter()
                .map(places)
                .collect(),
        };
        found.as_array().unwrap().iter().map(violation).collect()
    }
}

/// A key that has no letter.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key {
    Tab,
    Enter,
    Space,
}

impl Key {
    fn code(self) -> &'static str {
        match self {
            Self::Tab => "\u{e004}",
            Self::Enter => "\u{e007}",
            Self::Space => " ",
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Asked to end, the driver ends the browser, too; killed, it could not.
        if let Some(pid) = i32::try_from(self.driver.id())
            .ok()
            .and_then(rustix::process::Pid::from_raw)
        {
            let _gone = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        }
        drop(self.driver.wait());
    }
}

/// A driver on a free port.
fn start_driver() -> (Child, SocketAddr) {
    let mut driver = Command::new("chromedriver")
        .args(["--port=0", "--log-level=WARNING"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("chromedriver: {error}; `make test` installs it"));
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let mut port = None;
    while port.is_none() {
        let line = lines
            .next()
            .expect("chromedriver says where it listens")
            .unwrap();
        let said = line.split_once("successfully on port ");
        port = said.and_then(|(_, port)| port.trim_end_matches('.').parse().ok());
    }
    // Whoever writes into a pipe that nobody reads stops.
    std::thread::spawn(move || lines.for_each(drop));
    (driver, SocketAddr::from(([127, 0, 0, 1], port.unwrap())))
}

/// The accessibility engine: a script.
fn axe() -> &'static str {
    static SCRIPT: OnceLock<String> = OnceLock::new();
    SCRIPT.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let printed = Command::new(root.join("scripts/axe-core"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&printed.stderr);
        assert!(printed.status.success(), "scripts/axe-core: {said}");
        let path = PathBuf::from(String::from_utf8(printed.stdout).unwrap().trim());
        std::fs::read_to_string(path).unwrap()
    })
}
