//! The use cases: each loads the facts, asks the law, has the store carry the verdict out, and
//! knows nothing about HTTP.

pub mod admin;
pub mod authenticate;
pub mod authorize;
pub mod clients;
pub mod code;
pub mod demo;
pub mod id_token;
pub mod introspect;
pub mod keys;
pub mod liveness;
pub mod logout;
pub mod operate;
pub mod password;
pub mod refresh;
pub mod revoke;
pub mod token;
pub mod tokens;
pub mod userinfo;
pub mod users;

use signet_oauth::{Error, ErrorCode};

use crate::hashing::PoolError;
use crate::signer::SignError;
use crate::store;

/// Why a use case did not go through.
#[derive(Debug)]
pub enum Failure {
    /// The law says no: normal, and the client is told.
    Denied(Error),
    /// Something that should work does not: logged once at the door, the client hears a bland
    /// sentence.
    Fault(Fault),
}

/// Something that should work and does not.
#[derive(Debug)]
pub struct Fault {
    /// Whether trying again later may help: 503 instead of 500.
    pub passing: bool,
    /// What was attempted, and what came of it: for the log only.
    pub context: String,
}

impl Fault {
    /// A fault that trying again will not mend.
    pub fn lasting(context: impl Into<String>) -> Self {
        Self {
            passing: false,
            context: context.into(),
        }
    }

    /// A fault that may be gone in a moment.
    pub fn passing(context: impl Into<String>) -> Self {
        Self {
            passing: true,
            context: context.into(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Denied(error)
    }
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        let passing = !matches!(error, store::Error::Fault(_));
        Self::Fault(Fault {
            passing,
            context: format!("store: {error}"),
        })
    }
}

impl From<SignError> for Failure {
    fn from(error: SignError) -> Self {
        Self::Fault(Fault {
            passing: error.is_passing(),
            context: format!("signer: {error}"),
        })
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        Self::Fault(Fault::passing(format!("hashing: {error}")))
    }
}

/// `not_found`, for the admin interface.
pub fn not_found(what: &'static str) -> Failure {
    Failure::Denied(Error::new(
        ErrorCode::NotFound,
        format!("there is no such {what}"),
        "not_found",
    ))
}

/// `conflict`, for the admin interface.
pub fn conflict(description: &'static str, reason: &'static str) -> Failure {
    Failure::Denied(Error::new(ErrorCode::Conflict, description, reason))
}
