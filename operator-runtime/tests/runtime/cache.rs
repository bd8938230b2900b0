//! The cache of compiled components, whatever happens to its files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use overspill_operator_runtime::{Call, Limits, Operator, Runtime, RuntimeOptions};
use overspill_protocol::Digest;

use crate::common::{batch, guest, outputs};

const GUEST: &str = "hostile-trap-on-record";
/// Names the folder that [`another_process`] uses.
const FOLDER: &str = "OVERSPILL_TEST_CACHE";

fn runtime(folder: &Path) -> Runtime {
    let options = RuntimeOptions { cache_dir: Some(folder.into()), ..RuntimeOptions::default() };
    Runtime::new(options).expect("a runtime")
}

fn works(operator: &Operator) {
    let pool = operator.pool(&[], Limits::default()).expect("a pool");
    let mut instance = pool.take().expect("an instance");
    let run = instance.run(&batch(&["a", "b"]), &Call::default()).expect("a run");
    assert_eq!(outputs(&run.emission), ["a", "b"]);
}

fn cached(folder: &Path) -> Option<Operator> {
    let digest = Digest::of(&guest(GUEST));
    runtime(folder).load_cached(digest).expect("a cached operator or none")
}

/// What happens to a file.
type Breakage = fn(&mut Vec<u8>);

/// The files of the cache.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder");
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

/// A folder with a compiled component, and its file.
fn filled() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    works(&runtime(folder.path()).load(&guest(GUEST)).expect("an operator"));
    let file = files(folder.path()).pop().expect("a file");
    (folder, file)
}

#[test]
fn a_component_is_loaded_from_the_cache_alone() {
    let (folder, _) = filled();
    let operator = cached(folder.path()).expect("it was compiled before");
    assert_eq!(operator.digest(), Digest::of(&guest(GUEST)));
    assert_eq!(operator.component_bytes_len(), guest(GUEST).len() as u64);
    assert_eq!(operator.description().name, "trap-on-record");
    works(&operator);
}

#[test]
fn a_component_that_was_never_compiled_is_not_in_the_cache() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(cached(folder.path()).is_none());
}

#[test]
fn a_broken_file_is_never_loaded_and_is_replaced() {
    let breakages: [(&str, Breakage); 6] = [
        ("emptied", Vec::clear),
        ("cut to a few bytes", |bytes| bytes.truncate(20)),
        ("cut in the middle", |bytes| bytes.truncate(bytes.len() / 2)),
        ("a byte short", |bytes| bytes.truncate(bytes.len() - 1)),
        ("a bit altered", |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        }),
        ("a byte longer", |bytes| bytes.push(0)),
    ];
    for (name, breakage) in breakages {
        let (folder, file) = filled();
        let whole = fs::read(&file).expect("the file");
        let mut bytes = whole.clone();
        breakage(&mut bytes);
        fs::write(&file, bytes).expect("written");
        assert!(cached(folder.path()).is_none(), "{name}: loaded");
        works(&runtime(folder.path()).load(&guest(GUEST)).expect("an operator"));
        assert_eq!(fs::read(&file).expect("the file"), whole, "{name}: not replaced");
        works(&cached(folder.path()).expect("it is replaced"));
    }
}

#[test]
fn a_file_under_another_components_name_is_not_loaded() {
    let (folder, file) = filled();
    let other = Digest::of(b"another component");
    let name = file.file_name().expect("a name").to_string_lossy();
    let other_name = name.replace(&Digest::of(&guest(GUEST)).to_string(), &other.to_string());
    fs::copy(&file, folder.path().join(other_name)).expect("copied");
    assert!(runtime(folder.path()).load_cached(other).expect("none").is_none());
}

#[test]
fn two_processes_that_compile_at_once_both_get_a_whole_component() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = || -> Child {
        Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "cache::another_process", "--ignored"])
            .env(FOLDER, folder.path())
            .spawn()
            .expect("another process")
    };
    for mut child in [start(), start(), start()] {
        let status = child.wait().expect("its end");
        assert!(status.success(), "{status}");
    }
    assert_eq!(files(folder.path()).len(), 1, "{:?}", files(folder.path()));
    works(&cached(folder.path()).expect("it was compiled"));
}

#[test]
#[ignore = "run by two_processes_that_compile_at_once_both_get_a_whole_component"]
fn another_process() {
    let folder = std::env::var_os(FOLDER).expect("a folder");
    for _ in 0..5 {
        let folder = Path::new(&folder);
        works(&runtime(folder).load(&guest(GUEST)).expect("an operator"));
        // Others may be reading or writing it just now.
        for file in files(folder) {
            let _ = fs::remove_file(file);
        }
    }
    works(&runtime(Path::new(&folder)).load(&guest(GUEST)).expect("an operator"));
}

#[test]
fn a_folder_that_can_not_be_made_costs_only_the_cache() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "in the way").expect("written");
    works(&runtime(&file.join("cache")).load(&guest(GUEST)).expect("an operator"));
}

#[test]
fn a_folder_that_others_can_write_is_not_used() {
    let (folder, file) = filled();
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
    };
    set(folder.path(), 0o777);
    assert!(cached(folder.path()).is_none());
    set(folder.path(), 0o700);
    works(&cached(folder.path()).expect("it is there"));
    set(&file, 0o666);
    assert!(cached(folder.path()).is_none(), "others can write the file");
}

#[test]
fn the_folder_is_closed_to_others() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("deep").join("cache");
    works(&runtime(&folder).load(&guest(GUEST)).expect("an operator"));
    let mode = fs::metadata(&folder).expect("the folder").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_cache_that_is_too_large_loses_what_was_used_longest_ago() {
    let folder = tempfile::tempdir().expect("a folder");
    let options = RuntimeOptions {
        cache_dir: Some(folder.path().into()),
        cache_bytes: 1,
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::new(options).expect("a runtime");
    let first = runtime.load(&guest(GUEST)).expect("an operator").digest();
    let second = runtime.load(&guest("hostile-grudge")).expect("an operator").digest();
    assert!(runtime.load_cached(first).expect("none").is_none());
    works(&runtime.load_cached(second).expect("an operator").expect("just compiled"));
}

#[test]
fn a_full_disk_costs_only_the_cache() {
    // A disk of 64 KiB; only root can have one.
    let folder = tempfile::tempdir().expect("a folder");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k,mode=700", "tmpfs"])
        .arg(folder.path())
        .output()
        .is_ok_and(|output| output.status.success());
    if !mounted {
        // Without: every write goes to a full device, through a link in the folder's place.
        let link = folder.path().join("full");
        std::os::unix::fs::symlink("/dev/full", &link).expect("a link");
        works(&runtime(&link).load(&guest(GUEST)).expect("an operator"));
        return;
    }
    let outcome = std::panic::catch_unwind(|| {
        let runtime = runtime(folder.path());
        works(&runtime.load(&guest(GUEST)).expect("an operator"));
        assert_eq!(files(folder.path()), Vec::<PathBuf>::new(), "a part of a file was left");
        works(&runtime.load(&guest(GUEST)).expect("an operator"));
    });
    let unmounted = Command::new("umount").arg(folder.path()).status().expect("umount");
    assert!(unmounted.success());
    outcome.expect("the runtime goes on");
}
