//! Writes behind the caller's back are seen at once, and a failure comes out.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use super::super::behind::Behind;
use super::*;

/// A store whose writes wait until they are let through.
#[derive(Debug)]
struct Gated {
    inner: FakeStore,
    gate: Mutex<Receiver<()>>,
}

fn gated() -> (Behind<Gated>, Sender<()>, FakeStore) {
    let (open, gate) = channel();
    let inner = FakeStore::well();
    let store = Gated { inner: inner.clone(), gate: Mutex::new(gate) };
    (Behind::new(store).unwrap(), open, inner)
}

impl ColdStore for Gated {
    fn get(&self, key: &[u8]) -> Result<Option<Slice>, DiskError> {
        self.inner.get(key)
    }

    fn write(&self, changes: Vec<(Vec<u8>, Option<Slice>)>) -> Result<(), DiskError> {
        // Shut for good when the test is over.
        self.gate.lock().unwrap().recv().map_err(|_| DiskError::Store("shut".to_owned()))?;
        self.inner.write(changes)
    }

    fn scan(&self, from: &[u8], most: usize) -> Result<Vec<(Vec<u8>, Slice)>, DiskError> {
        self.inner.scan(from, most)
    }
}

fn value(text: &str) -> Option<Slice> {
    Some(text.into())
}

fn key(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

#[test]
fn what_waits_is_read_over_what_the_store_has() {
    let (behind, open, inner) = gated();
    inner.write(["a", "b", "c", "d"].map(|text| (key(text), value("old"))).into()).unwrap();
    behind.write(vec![(key("b"), value("new")), (key("c"), None)]).unwrap();
    behind.write(vec![(key("b"), value("newer")), (key("bb"), value("new"))]).unwrap();
    let look = |behind: &Behind<Gated>| {
        assert_eq!(behind.get(b"a").unwrap(), value("old"));
        assert_eq!(behind.get(b"b").unwrap(), value("newer"));
        assert_eq!(behind.get(b"c").unwrap(), None);
        let all = behind.scan(b"", 10).unwrap();
        let keys: Vec<_> = all.iter().map(|(key, _)| key.as_slice()).collect();
        assert_eq!(keys, [&b"a"[..], b"b", b"bb", b"d"]);
        let two = behind.scan(b"b", 2).unwrap();
        assert_eq!(two, [(key("b"), "newer".into()), (key("bb"), "new".into())]);
    };
    look(&behind);
    // One is through; the newer still waits.
    open.send(()).unwrap();
    while inner.get(b"b").unwrap() != value("new") {
        std::thread::sleep(Duration::from_millis(1));
    }
    look(&behind);
    open.send(()).unwrap();
    while inner.get(b"b").unwrap() != value("newer") {
        std::thread::sleep(Duration::from_millis(1));
    }
    look(&behind);
    drop(open);
}

#[test]
fn a_failure_comes_out_at_a_later_write_and_loses_nothing() {
    let (behind, open, inner) = gated();
    inner.fail_in(0);
    behind.write(vec![(key("a"), value("1"))]).unwrap();
    open.send(()).unwrap();
    let error = loop {
        match behind.write(vec![(key("b"), value("2"))]) {
            Ok(()) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.contains("an earlier write failed: "), "{error}");
    assert_eq!(behind.get(b"a").unwrap(), value("1"));
    assert_eq!(behind.scan(b"", 10).unwrap()[0], (key("a"), "1".into()));
    drop(open);
}

#[test]
fn a_caller_waits_when_too_much_waits() {
    let (behind, open, _) = gated();
    let large = || Some(vec![0; 3 << 20].into());
    for number in 0..3_u8 {
        behind.write(vec![(vec![number], large())]).unwrap();
    }
    let (done, is_done) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            behind.write(vec![(vec![9], large())]).unwrap();
            done.send(()).unwrap();
        });
        assert!(is_done.recv_timeout(Duration::from_millis(50)).is_err(), "it went past");
        open.send(()).unwrap();
        is_done.recv().unwrap();
    });
    drop(open);
}
