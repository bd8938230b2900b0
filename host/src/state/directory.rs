//! The private folder of a state, and those that killed runs left behind.

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use tempfile::TempDir;

/// How the folders' names begin.
const PREFIX: &str = "overspill-state-";
/// A file that is locked as long as its folder is used. The lock goes with the process that has
/// it, however that ends.
const OWNER: &str = "owner";

/// A folder that only this user can look into, gone when it is dropped.
#[derive(Debug)]
pub(super) struct PrivateFolder {
    folder: TempDir,
    _owner: File,
}

impl PrivateFolder {
    /// Makes one in a folder, which is made too if it isn't there. Removes those in it that nobody
    /// uses any more.
    pub(super) fn make_in(parent: &Path) -> io::Result<Self> {
        fs::create_dir_all(parent)?;
        remove_leftovers(parent);
        let private = Permissions::from_mode(0o700);
        let folder =
            tempfile::Builder::new().prefix(PREFIX).permissions(private).tempdir_in(parent)?;
        // It gets its name when it is locked: nobody sees it before.
        let unnamed = folder.path().join("owner.new");
        let owner = File::create_new(&unnamed)?;
        owner.lock()?;
        fs::rename(unnamed, folder.path().join(OWNER))?;
        Ok(Self { folder, _owner: owner })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes what killed runs of this user left. What can't be removed stays: it harms nobody.
fn remove_leftovers(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let folder = entry.path();
        let ours = fs::symlink_metadata(&folder).is_ok_and(|metadata| {
            metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw()
        });
        if !ours {
            continue;
        }
        let Ok(owner) = File::open(folder.join(OWNER)) else { continue };
        match owner.try_lock() {
            Ok(()) => match fs::remove_dir_all(&folder) {
                Ok(()) => {
                    tracing::info!(folder = %folder.display(), "removed what a killed run left")
                }
                Err(error) => {
                    tracing::warn!(folder = %folder.display(), %error, "can't be removed")
                }
            },
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_user_can_look_into_it() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = PrivateFolder::make_in(parent.path()).expect("it can be made");
        let mode = fs::metadata(folder.path()).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }

    #[test]
    fn it_is_gone_when_dropped() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = PrivateFolder::make_in(&parent.path().join("new")).expect("it can be made");
        let path = folder.path().to_owned();
        assert!(path.is_dir());
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn leftovers_are_removed_and_what_is_in_use_is_not() {
        let parent = tempfile::tempdir().expect("a folder");
        let left = parent.path().join("overspill-state-left");
        fs::create_dir(&left).expect("a folder");
        fs::write(left.join(OWNER), "").expect("a file");
        let foreign = parent.path().join("overspill-state-without-owner");
        fs::create_dir(&foreign).expect("a folder");
        let first = PrivateFolder::make_in(parent.path()).expect("it can be made");
        let second = PrivateFolder::make_in(parent.path()).expect("it can be made");
        assert!(!left.exists());
        assert!(first.path().is_dir() && second.path().is_dir() && foreign.is_dir());
    }
}
