//! An allocator that counts: for the tests and the fuzz targets, which bring it in with `#[path]`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counting what each thread asks for.
pub struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as the caller promises.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

fn count(size: usize) {
    // A thread that ends may still free and ask for memory when its counters are gone.
    let _ = ASKED.try_with(|asked| asked.set(asked.get().saturating_add(size)));
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

/// How many bytes `work` asks for, and in how many calls.
pub fn asked<T>(work: impl FnOnce() -> T) -> (T, usize, usize) {
    let (bytes, calls) = (ASKED.get(), CALLS.get());
    let done = work();
    (done, ASKED.get() - bytes, CALLS.get() - calls)
}
