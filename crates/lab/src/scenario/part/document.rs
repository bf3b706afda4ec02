//! The documents that a server publishes: its metadata and its keys. It must not know who reads them.

use url::Url;

use crate::call::{Reply, Wrong};
use crate::scenario::judge::answer::{self, wrong};
use crate::scenario::names::Names;
use crate::scenario::parameters::Depth;
use crate::scenario::pass::{Ground, Part, Run, Sent};
use crate::scenario::target::set_up::{get, judge_keys, judge_metadata};

pub(crate) enum Document {
    Discovery(Url),
    Keys(Url),
}

impl Part for Document {
    fn steps(&self) -> Vec<String> {
        let name = match self {
            Self::Discovery(_) => "discovery",
            Self::Keys(_) => "jwks",
        };
        vec![name.to_owned()]
    }

    fn names(&self, _: &Ground) -> Names {
        Names::default()
    }

    fn begin(&self, _: &mut Run<'_>) -> Result<Option<Sent>, Wrong> {
        let (Self::Discovery(url) | Self::Keys(url)) = self;
        let call = get(url);
        Ok(Some(Sent { step: 0, call }))
    }

    fn answered(&self, run: &mut Run<'_>, reply: &Reply) -> Result<Option<Sent>, Wrong> {
        answer::status(reply, &[200])?;
        if run.ground.parameters.judge == Depth::Status {
            return Ok(None);
        }
        match self {
            Self::Discovery(_) => drop(judge_metadata(reply, &run.ground.issuer)?),
            Self::Keys(_) if judge_keys(reply)?.is_empty() => {
                return Err(wrong("keys", "there is none to verify a signature with"));
            }
            Self::Keys(_) => {}
        }
        Ok(None)
    }
}
