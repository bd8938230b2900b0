//! What doesn't fit into memory goes to disk and comes back, or there is an error.

use std::fs;
use std::path::Path;

use super::*;

fn small(directory: &Path) -> StateOptions {
    StateOptions { memory: 256 << 10, directory: Some(directory.to_owned()), ..options() }
}

fn long_key(key: u32) -> Vec<u8> {
    // Some keys are too long to be the store's keys.
    let mut long = key.to_le_bytes().to_vec();
    long.resize(if key.is_multiple_of(97) { 70_000 } else { 8 }, b'k');
    long
}

#[test]
fn states_that_do_not_fit_into_memory_come_back_from_disk() {
    let folder = tempfile::tempdir().unwrap();
    let mut keyed = open(small(folder.path()));
    for round in 0..2_u8 {
        for key in 0..3000_u32 {
            let state = vec![round.wrapping_add(key as u8); 500 + key as usize % 500];
            put(&mut keyed, &long_key(key), 0, &state).unwrap();
            assert!(keyed.stats().memory_bytes < (256 << 10) + 150_000);
        }
        let stats = keyed.stats();
        assert_eq!(stats.keys, 3000);
        assert!(stats.spilled_keys > 2000 && stats.spilled_bytes > 1_500_000, "{stats:?}");
        for key in (0..3000_u32).rev() {
            let state = vec![round.wrapping_add(key as u8); 500 + key as usize % 500];
            assert_eq!(state_of(&mut keyed, &long_key(key), 0).unwrap(), state);
        }
        verify(&keyed);
    }
    let mut all = 0;
    for group in 0..keyed.options().key_groups {
        let group = KeyGroup::numbered(group);
        let keys = keyed.keys_of_group(group).unwrap();
        assert!(keys.iter().all(|key| keyed.key_group(key) == group));
        all += keys.len();
    }
    assert_eq!(all, 3000);
}

#[test]
fn the_folder_is_gone_with_the_state() {
    let folder = tempfile::tempdir().unwrap();
    let mut keyed = open(small(folder.path()));
    for key in 0..1000_u32 {
        put(&mut keyed, &key.to_le_bytes(), 0, &[1; 1000]).unwrap();
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    drop(keyed);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_cannot_be_used_is_found_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = KeyedState::open(small(&file)).unwrap_err().to_string();
    assert!(error.starts_with("OS0024: operator `count`: can't make a folder in "), "{error}");
    assert!(error.contains("`state.directory`"), "{error}");
}

#[test]
fn a_full_disk_is_an_error_and_changes_nothing() {
    let store = FakeStore::well();
    let mut keyed = open_with(StateOptions { memory: 16 << 10, ..options() }, store.clone());
    let mut failures = 0;
    for key in 0..500_u32 {
        store.fail_in(0);
        let before = keyed.stats();
        if let Err(error) = put(&mut keyed, &key.to_le_bytes(), 0, &[key as u8; 200]) {
            assert!(matches!(error, StateError::Disk { .. }), "{error}");
            assert_eq!(keyed.stats(), before);
            failures += 1;
            // Without the fault, the same call goes through.
            put(&mut keyed, &key.to_le_bytes(), 0, &[key as u8; 200]).unwrap();
        }
        store.fail_in(-1);
    }
    assert!(failures > 100);
    for key in 0..500_u32 {
        assert_eq!(state_of(&mut keyed, &key.to_le_bytes(), 0).unwrap(), [key as u8; 200]);
    }
    verify(&keyed);
}

#[test]
fn a_commit_that_fails_in_the_middle_changes_nothing() {
    let store = FakeStore::well();
    let mut keyed = open_with(StateOptions { memory: 16 << 10, ..options() }, store.clone());
    for key in 0..500_u32 {
        put(&mut keyed, &key.to_le_bytes(), 0, &[1; 200]).unwrap();
    }
    let keys: Vec<[u8; 4]> = (0..10_u32).map(u32::to_le_bytes).collect();
    let new = NewState::Replaced(b"new");
    let changes: Vec<_> = keys.iter().map(|key| change(key, 1, new)).collect();
    for calls in 0..8 {
        // Other keys push these out again.
        for key in 100..300_u32 {
            put(&mut keyed, &key.to_le_bytes(), 0, &[1; 200]).unwrap();
        }
        store.fail_in(calls);
        let error = keyed.commit(0, &changes).unwrap_err();
        assert!(matches!(error, StateError::Disk { .. }), "{error}");
        for key in &keys {
            assert_eq!(
                keyed.get(key, 0).unwrap(),
                Versioned { state: Some(&[1; 200]), version: 1 }
            );
        }
        verify(&keyed);
    }
    keyed.commit(0, &changes).unwrap();
    for key in &keys {
        assert_eq!(keyed.get(key, 0).unwrap(), Versioned { state: Some(b"new"), version: 2 });
    }
}

#[test]
fn a_damaged_record_is_an_error_never_a_state() {
    let store = FakeStore::well();
    let mut keyed = open_with(StateOptions { memory: 64 << 10, ..options() }, store.clone());
    for key in 0..500_u32 {
        let set = [at(1)];
        let set = if key.is_multiple_of(8) { &set[..] } else { &[] };
        let new = NewState::Replaced(&[7; 200]);
        let key = key.to_le_bytes();
        keyed.commit(0, &[KeyChange { set, ..change(&key, 0, new) }]).unwrap();
    }
    let kept = store.records.lock().unwrap().clone();
    let mut seen = 0;
    for key in 0..400_u32 {
        {
            let mut records = store.records.lock().unwrap();
            let old = kept.values().next().unwrap().clone();
            for (at, record) in records.values_mut().enumerate() {
                match at % 4 {
                    0 => record[at % 200] ^= 1,
                    1 => record.truncate(at % 200),
                    2 => record.clone_from(&old),
                    _ => record.push(0),
                }
            }
        }
        match keyed.get(&key.to_le_bytes(), 0) {
            Ok(found) => assert_eq!(found.state, Some(&[7; 200][..])),
            Err(error) => {
                assert!(error.to_string().contains("the record of a key is damaged"), "{error}");
                seen += 1;
            }
        }
        store.records.lock().unwrap().clone_from(&kept);
    }
    assert!(seen > 300, "{seen}");
    verify(&keyed);
}

#[test]
fn files_that_are_damaged_or_gone_are_an_error_never_a_state() {
    for cut in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let mut keyed = open(StateOptions { memory: 64 << 10, ..small(folder.path()) });
        let keys = 40_000_u32;
        let state = |key: u32| [key.to_le_bytes(), (!key).to_le_bytes()].concat().repeat(80);
        for key in 0..keys {
            put(&mut keyed, &key.to_le_bytes(), 0, &state(key)).unwrap();
        }
        let mut files = Vec::new();
        files_below(folder.path(), &mut files);
        for file in files {
            let Ok(mut bytes) = fs::read(&file) else { continue };
            match cut {
                false => bytes.iter_mut().step_by(1000).for_each(|byte| *byte ^= 0x55),
                true => bytes.truncate(bytes.len() / 2),
            }
            // In place, so that what is open sees it.
            let open = fs::OpenOptions::new().write(true).open(&file).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&open, &bytes, 0).unwrap();
            open.set_len(bytes.len() as u64).unwrap();
        }
        let mut errors = 0;
        for key in 0..keys {
            match keyed.get(&key.to_le_bytes(), 0) {
                Ok(found) => {
                    assert_eq!(found.state, Some(&state(key)[..]), "key {key}");
                }
                Err(StateError::Disk { .. }) => errors += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(errors > 1000, "{errors}");
    }
}

fn files_below(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files_below(&path, files),
            false => files.push(path),
        }
    }
}
