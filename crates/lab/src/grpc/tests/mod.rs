//! The client against a server of the tests' own, over real connections.

mod calls;
mod faults;
mod reflect;
mod secure;
mod server;
mod service;
mod streams;

use std::future::Future;
use std::num::NonZeroU64;
use std::time::Duration;

use tokio::runtime::{Builder, LocalOptions};

use super::call::CallResult;
use super::channel::Channel;
use super::metadata::Metadata;
use super::prepared::{Prepared, Traffic};
use super::target::{Connections, GrpcTarget};
use crate::clock::Clock;
use server::Server;

/// Long enough that only a call that would never end meets it.
const LONG: Option<Duration> = Some(Duration::from_mins(1));
const SHORT: Option<Duration> = Some(Duration::from_millis(20));

fn on_runtime<T>(work: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build_local(LocalOptions::default())
        .unwrap();
    runtime.block_on(work)
}

fn channel(server: &Server) -> Channel {
    let target = GrpcTarget::new(&server.address, None).unwrap();
    Channel::new(&target, Clock::start()).unwrap()
}

fn channel_with(server: &Server, connections: Connections) -> Channel {
    let mut target = GrpcTarget::new(&server.address, None).unwrap();
    target.connections = connections;
    Channel::new(&target, Clock::start()).unwrap()
}

fn prepared(method: &str, json: &str) -> Prepared {
    let method = service::schema().method(method).unwrap();
    Prepared::new(&method, json, Traffic::default()).unwrap()
}

fn stream(method: &str, json: &str, messages: u64, outstanding: u64) -> Prepared {
    let method = service::schema().method(method).unwrap();
    let traffic = Traffic {
        messages: Some(messages),
        outstanding: NonZeroU64::new(outstanding),
    };
    Prepared::new(&method, json, traffic).unwrap()
}

fn unary() -> Prepared {
    prepared("api.v1.TestService/Unary", r#"{"message": "hello"}"#)
}

async fn call(channel: &Channel, prepared: &Prepared) -> CallResult {
    channel.call(prepared, &Metadata::default(), LONG).await
}
