//! A runner that a host has started must not outlive it.

use std::io::Read as _;

use crate::drain;

/// Ends this process as soon as its standard input is closed. The host holds the other end of
/// that pipe, and the kernel closes it however the host ends, `kill -9` included. Nobody is left
/// to take an answer then, so nothing is drained.
pub(crate) fn exit_when_standard_input_closes() {
    std::thread::spawn(|| {
        let mut stdin = std::io::stdin().lock();
        let mut ignored = [0; 64];
        loop {
            match stdin.read(&mut ignored) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        drain::exit_now(0);
    });
}
