//! A source that has nothing to say holds nobody back for longer than it is told to.

#[path = "common/guests.rs"]
mod guests;

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use self::guests::guest;

#[test]
fn a_window_closes_although_another_source_is_silent() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (talks, silent) = (folder.path().join("talks"), folder.path().join("silent"));
    for fifo in [&talks, &silent] {
        let status = Command::new("mkfifo").arg(fifo).status().expect("mkfifo runs");
        assert!(status.success());
    }
    let source = |name: &str, path: &Path, idle: &str| {
        format!(
            "[[source]]\nname = \"{name}\"\nkind = \"ndjson\"\npath = {path:?}\nkey_field = \"k\"\n\
             time_field = \"t\"\nwatermark = {{ out_of_orderness = \"0s\"{idle} }}\n\
             batch = {{ linger = \"5ms\" }}\n"
        )
    };
    let pipeline = format!(
        "{}{}[[operator]]\nname = \"same\"\ncomponent = {:?}\ninput = [\"talks\", \"silent\"]\n\
         [[operator]]\nname = \"windows\"\ncomponent = {:?}\nsettings = {{ size = \"1s\" }}\n\
         [[sink]]\nname = \"out\"\nkind = \"stdout\"\n",
        source("talks", &talks, ""),
        source("silent", &silent, ", idle = \"100ms\""),
        guest("identity"),
        guest("windowed-count"),
    );
    let file = folder.path().join("pipeline.toml");
    std::fs::write(&file, pipeline).expect("a pipeline can be written");
    let mut host = Command::new(env!("CARGO_BIN_EXE_overspill"))
        .args(["run", "--quiet"])
        .arg(&file)
        .stdout(Stdio::piped())
        .spawn()
        .expect("overspill starts");
    // Opening a pipe for writing waits for its reader.
    let open = |path| OpenOptions::new().write(true).open(path).expect("the source reads it");
    let (mut talking, silence) = (open(&talks), open(&silent));
    writeln!(talking, "{{\"k\":\"a\",\"t\":100}}\n{{\"k\":\"a\",\"t\":200}}").expect("it is taken");
    writeln!(talking, "{{\"k\":\"a\",\"t\":1500}}").expect("it is taken");
    let (lines, written) = mpsc::channel();
    let output = host.stdout.take().expect("it was asked for");
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            // Nobody listens any more when the test has failed.
            let _ = lines.send(line);
        }
    });
    let next = || written.recv_timeout(Duration::from_secs(30)).expect("a window is written");
    assert_eq!(next(), "0 2", "while both pipes are open");
    drop((talking, silence));
    assert_eq!(next(), "1000 1");
    assert!(host.wait().expect("overspill ends").success());
}
