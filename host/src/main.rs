//! The `overspill` command.

mod cli;

/// Many small allocations by several threads: the system's allocator is slower at that, and the
/// one of musl much slower.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    cli::main()
}
