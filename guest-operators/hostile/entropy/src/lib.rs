//! Emits, for each record, what would differ from machine to machine if the runtime didn't see to
//! it: the bits of NaNs, random bytes, and both clocks. All in hexadecimal, with a blank between.

wit_bindgen::generate!({
    path: "../../../wit",
    world: "hostile:guest/entropy",
    generate_all,
    inline: "
        package hostile:guest;

        world entropy {
            include overspill:operator/flatmap-operator@0.1.0;
            import wasi:random/random@0.2.3;
            import wasi:random/insecure-seed@0.2.3;
            import wasi:clocks/wall-clock@0.2.3;
            import wasi:clocks/monotonic-clock@0.2.3;
        }

        package wasi:random@0.2.3 {
            interface random {
                get-random-bytes: func(len: u64) -> list<u8>;
                get-random-u64: func() -> u64;
            }
            interface insecure-seed {
                insecure-seed: func() -> tuple<u64, u64>;
            }
        }

        package wasi:clocks@0.2.3 {
            interface wall-clock {
                record datetime {
                    seconds: u64,
                    nanoseconds: u32,
                }
                now: func() -> datetime;
            }
            interface monotonic-clock {
                now: func() -> u64;
            }
        }
    ",
});
hostile_support::names!();

use std::hint::black_box;

use wasi::clocks::{monotonic_clock, wall_clock};
use wasi::random::{insecure_seed, random};

struct Guest;

hostile_support::describe!("entropy", Kind::Flatmap, "0.1.0", Vec::new());
hostile_support::configure!();
hostile_support::flatmap!(|input| each(input, |value| {
    let zero = black_box(0.0_f64);
    // A quiet NaN with a payload, and NaNs of several makers.
    let payload = f32::from_bits(black_box(0x7fc1_2345));
    let now = wall_clock::now();
    vec![
        [
            String::from_utf8_lossy(value).into_owned(),
            format!("{:016x}", (zero / zero).to_bits()),
            format!("{:016x}", black_box(-1.0_f64).sqrt().to_bits()),
            format!("{:08x}", (payload + black_box(1.0)).to_bits()),
            format!("{:02x?}", random::get_random_bytes(8)),
            format!("{:016x}", random::get_random_u64()),
            format!("{:x?}", insecure_seed::insecure_seed()),
            format!("{}.{:09}", now.seconds, now.nanoseconds),
            monotonic_clock::now().to_string(),
        ]
        .join(" ")
        .into_bytes(),
    ]
}));
hostile_support::each!();
export!(Guest);
