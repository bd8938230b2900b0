//! The Rust compiler for WebAssembly: which one is there, and installing one where none is.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::step;

/// The target that Rust guests are built for: a component that imports nothing comes of it.
pub const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// A compiler that can build for [`WASM_TARGET`].
#[derive(Debug)]
pub enum Toolchain {
    /// The compiler in use has the target's standard library.
    Standard,
    /// Debian's `rustc-web`, which brings the sources of the standard library: cargo builds them.
    Debian {
        /// The linker, which Debian's package lacks.
        linker: PathBuf,
    },
}

const DEBIAN_RUSTC: &str = "/usr/bin/rustc";
const DEBIAN_PACKAGES: [&str; 2] = ["rustc-web", "rust-web-src"];

impl Toolchain {
    /// Makes a `cargo build` use this compiler.
    pub fn prepare(&self, cargo: &mut Command) {
        match self {
            Self::Standard => {}
            Self::Debian { linker } => {
                // Building the standard library is unstable, hence the bootstrap variable.
                cargo
                    .env("RUSTC", DEBIAN_RUSTC)
                    .env("RUSTC_BOOTSTRAP", "1")
                    .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker)
                    .arg("-Zbuild-std=std,panic_abort");
            }
        }
    }
}

/// The compiler for guests, installed if need be.
///
/// # Errors
/// When none is there and none can be installed: says what to install.
pub fn wasm() -> Result<Toolchain> {
    if has_target() {
        return Ok(Toolchain::Standard);
    }
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", WASM_TARGET]);
    if step::run(&mut rustup).is_ok() && has_target() {
        return Ok(Toolchain::Standard);
    }
    eprintln!("    rustup has no {WASM_TARGET} to give; trying Debian's {DEBIAN_PACKAGES:?}");
    if !has_debian() && is_root() {
        let mut apt = Command::new("apt-get");
        apt.args(["install", "--yes", "--no-install-recommends"]).args(DEBIAN_PACKAGES);
        // Whether it worked shows below.
        let _ = step::run(&mut apt);
    }
    if has_debian()
        && let Some(linker) = linker()
    {
        return Ok(Toolchain::Debian { linker });
    }
    bail!(
        "no Rust compiler for {WASM_TARGET}. Install one of:\n\
         - with rustup: rustup target add {WASM_TARGET}\n\
         - on Debian: apt-get install {} lld (they replace Debian's own rustc)\n\
         - another distribution's package of Rust's standard library for {WASM_TARGET}",
        DEBIAN_PACKAGES.join(" ")
    )
}

/// The version of the compiler in use, with its commit.
///
/// # Errors
/// When there is none.
pub fn compiler_version() -> Result<String> {
    rustc(&["-vV"]).context("asking rustc for its version; is Rust installed?")
}

fn has_target() -> bool {
    rustc(&["--print", "target-libdir", "--target", WASM_TARGET])
        .is_ok_and(|folder| PathBuf::from(folder.trim()).is_dir())
}

fn has_debian() -> bool {
    let sysroot = output(Command::new(DEBIAN_RUSTC).args(["--print", "sysroot"]));
    sysroot.is_ok_and(|sysroot| {
        PathBuf::from(sysroot.trim()).join("lib/rustlib/src/rust/library/std").is_dir()
    })
}

/// A linker for WebAssembly: Rust's own, or LLVM's.
fn linker() -> Option<PathBuf> {
    let sysroot = rustc(&["--print", "sysroot"]).ok()?;
    let host = rustc(&["--print", "host-tuple"]).ok()?;
    let own =
        PathBuf::from(sysroot.trim()).join("lib/rustlib").join(host.trim()).join("bin/rust-lld");
    [own, PathBuf::from("/usr/bin/wasm-ld"), PathBuf::from("/usr/bin/lld")]
        .into_iter()
        .find(|linker| linker.is_file())
}

fn is_root() -> bool {
    output(Command::new("id").arg("-u")).is_ok_and(|id| id.trim() == "0")
}

fn rustc(arguments: &[&str]) -> Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    output(Command::new(rustc).args(arguments))
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?;
    if !output.status.success() {
        bail!("`{}` ended with {}", step::shown(command), output.status);
    }
    Ok(String::from_utf8(output.stdout)?)
}
