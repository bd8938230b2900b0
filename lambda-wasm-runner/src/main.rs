//! The `overspill-runner` command.

use std::process::ExitCode;

// Replies are built and dropped all the time, on another thread than the one that sends them.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    overspill_runner::main()
}
