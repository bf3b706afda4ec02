//! The binary: arguments, and nothing else.

use signet::config::{Config, Outside};
use signet::{cli, serve};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[expect(
    clippy::disallowed_methods,
    reason = "handed to the command line as a look-up"
)]
fn main() -> ExitCode {
    cli::run(
        std::env::args_os(),
        &|name| std::env::var_os(name),
        |args| {
            let file = args.config.config.as_deref();
            serve::run(Config::load(
                file,
                &Outside::real(),
                &args.config.overrides(),
            ))
        },
    )
}
