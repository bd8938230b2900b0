//! Kills runners at random while a pipeline runs.

use std::fs;
use std::ops::Range;
use std::process::{Child, Command};
use std::time::Duration;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Randomness that says how to have it again.
pub(crate) fn seeded() -> ChaCha8Rng {
    let seed: u64 = std::env::var("OVERSPILL_SEED").ok().map_or_else(
        || rand::rng().random(),
        |seed| seed.parse().expect("OVERSPILL_SEED is a number"),
    );
    println!("rerun with OVERSPILL_SEED={seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

/// Kills a runner of the host every so many milliseconds until the host ends; how many it killed.
pub(crate) fn kill_runners(host: &mut Child, random: &mut ChaCha8Rng, every_ms: Range<u64>) -> u32 {
    let mut killed = 0;
    while host.try_wait().expect("overspill can be asked").is_none() {
        std::thread::sleep(Duration::from_millis(random.random_range(every_ms.clone())));
        let runners = runners_of(host.id());
        if runners.is_empty() {
            continue;
        }
        let victim = runners[random.random_range(0..runners.len())];
        let status = Command::new("kill").args(["-9", &victim.to_string()]).status();
        killed += u32::from(status.is_ok_and(|status| status.success()));
    }
    killed
}

/// The runner processes of a host, by their parent's number.
fn runners_of(host: u32) -> Vec<u32> {
    let parent = format!("PPid:\t{host}");
    let processes = fs::read_dir("/proc").expect("a Linux has /proc").flatten();
    processes
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|process: &u32| {
            fs::read_to_string(format!("/proc/{process}/status"))
                .is_ok_and(|status| status.lines().any(|line| line == parent))
        })
        .collect()
}
