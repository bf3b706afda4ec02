//! Where the demo client of a development server takes its users back.

use http::StatusCode;
use serde::Serialize;

use super::{Frame, View};

/// Shows what an application was handed, and what it would do with it.
#[derive(Clone, Debug, Serialize)]
pub struct DemoView {
    /// The code.
    pub code: Option<String>,
    /// The error, where there is no code.
    pub error: String,
    /// The demo client.
    pub client: &'static str,
    /// Its secret.
    pub secret: &'static str,
    /// Where its users come back.
    pub redirect_uri: String,
    /// Where codes are exchanged.
    pub token_endpoint: String,
    /// Where it begins.
    pub again: String,
}

impl View for DemoView {
    const TEMPLATE: &'static str = "demo.html";

    fn frame(&self) -> Frame<'_> {
        Frame::plain(StatusCode::OK)
    }
}
