//! Codes of gRPC as a plan writes them. It must not know calls.

use std::sync::Arc;

use serde::Deserialize;

use crate::grpc::status::Code;
use crate::plan::quantity::Scalar;

/// Codes of right answers; empty: OK.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "OneOrMany")]
pub(crate) struct Codes(pub(crate) Vec<Code>);

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a code such as \"NOT_FOUND\", or a list of them"
)]
enum OneOrMany {
    One(Scalar),
    Many(Vec<Scalar>),
}

impl TryFrom<OneOrMany> for Codes {
    type Error = String;

    fn try_from(written: OneOrMany) -> Result<Self, String> {
        let written = match written {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) if many.is_empty() => {
                return Err("expected at least one code such as \"NOT_FOUND\"".to_owned());
            }
            OneOrMany::Many(many) => many,
        };
        let codes = written.iter().map(|Scalar(text)| text.parse());
        let codes: Result<_, crate::grpc::status::NoCode> = codes.collect();
        codes.map(Self).map_err(|fault| fault.to_string())
    }
}

impl Codes {
    pub(crate) fn expected(&self) -> Arc<[Code]> {
        if self.0.is_empty() {
            return [Code::OK].into();
        }
        self.0.as_slice().into()
    }
}
