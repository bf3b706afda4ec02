//! `signet-signer`: a small signing service that speaks the protocol of docs/signer.md, in the
//! place of a KMS or an HSM: for tests, measurements, and to be read before writing an adapter.
//!
//! It keeps its keys in files; that is what a real one does better.

mod keys;
mod service;

use clap::Parser;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A small signing service for Signet.
#[derive(Debug, Parser)]
#[command(name = "signet-signer", version)]
struct Arguments {
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:4460")]
    listen: SocketAddr,
    /// The file with the bearer token that clients must show.
    #[arg(long)]
    token_file: PathBuf,
    /// The directory of the keys. Where it has none of the algorithm, one is made.
    #[arg(long)]
    keys: PathBuf,
    /// The algorithm of the key that is made: RS256, PS256, ES256 or `EdDSA`.
    #[arg(long, default_value = "RS256")]
    alg: String,
    /// Milliseconds by which every answer is late.
    #[arg(long, default_value_t = 0)]
    delay_ms: u64,
    /// Threads that sign; as many as there are cores where it is not said.
    #[arg(long)]
    threads: Option<usize>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let service = Arc::new(service::Service::new(
        keys::load_or_create(&arguments.keys, &arguments.alg)?,
        &token(&arguments.token_file)?,
        Duration::from_millis(arguments.delay_ms),
    ));
    let listener = TcpListener::bind(arguments.listen)
        .map_err(|error| format!("cannot listen on {}: {error}", arguments.listen))?;
    listener.set_nonblocking(true)?;
    let mut out = io::stdout();
    for kid in service.kids() {
        writeln!(out, "key {kid}")?;
    }
    writeln!(out, "listening on http://{}", listener.local_addr()?)?;
    out.flush()?;

    let cores = std::thread::available_parallelism().map_or(1, Into::into);
    let mut threads = Vec::new();
    for _ in 0..arguments.threads.unwrap_or(cores).max(1) {
        let (listener, service) = (listener.try_clone()?, Arc::clone(&service));
        threads.push(std::thread::spawn(move || serve(listener, service)));
    }
    for thread in threads {
        thread.join().map_err(|_| "a thread died")??;
    }
    Ok(())
}

/// One thread: its own runtime, at the listener that all share.
fn serve(listener: TcpListener, service: Arc<service::Service>) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(service::accept(listener, service))
}

fn token(path: &Path) -> Result<String, String> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    match text.trim() {
        "" => Err(format!("{} is empty: put a token into it", path.display())),
        token => Ok(token.to_owned()),
    }
}
