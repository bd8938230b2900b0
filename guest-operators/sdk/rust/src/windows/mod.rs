//! Windows for keyed operators, built on timers.
//!
//! An operator implements [`Windowed`]: what a window gathers, and what becomes of it when it
//! ends. `export!(windowed Name)` makes a component of it. What windows a record is in, when they
//! end and what is late is as in Flink:
//!
//! - A window `start..end` holds the records with a time of at least `start` and less than `end`.
//! - It fires when the watermark reaches `end - 1` ms, and that is the time of its output.
//! - It stays for the allowed lateness beyond that: a record that comes in this time fires it
//!   again, at once, with the records it had and the new one.
//! - A record all of whose windows are gone is late. It goes to the side output for late records,
//!   if there is one.
//! - Sessions of a key that touch become one. A session ends when no record has come for the gap.
//!
//! ```
//! use overspill_operator::windows::{TimeWindow, Windowed, Windows};
//! use overspill_operator::{
//!     Context, Description, KeyedRecord, LittleEndian, Outlet, Rejection, Setting, SettingError,
//!     Settings,
//! };
//!
//! /// Counts a key's records in windows of a set size.
//! struct Counts {
//!     windows: Windows,
//! }
//!
//! const LATE: Outlet = Counts::DESCRIPTION.side_output("late");
//!
//! impl Windowed for Counts {
//!     const DESCRIPTION: Description = Description::new("counts", "1.0.0")
//!         .settings(&[Setting::with_default("size", "How long a window is, such as `10s`.", "10s")])
//!         .state_schema(1)
//!         .side_outputs(&["late"]);
//!     type Accumulator = u64;
//!     type Codec = LittleEndian;
//!
//!     fn new(settings: &Settings) -> Result<Self, SettingError> {
//!         Ok(Self { windows: Windows::tumbling(settings.duration("size")?).late_to(LATE) })
//!     }
//!
//!     fn windows(&self) -> &Windows {
//!         &self.windows
//!     }
//!
//!     fn add(&self, _: KeyedRecord<'_>, count: &mut u64) -> Result<(), Rejection> {
//!         *count += 1;
//!         Ok(())
//!     }
//!
//!     fn result(&self, window: TimeWindow, count: &u64, context: &mut Context<'_>) {
//!         context.emit(format!("{} records from {}", count, window.start).as_bytes());
//!     }
//! }
//!
//! overspill_operator::export!(windowed Counts);
//!
//! use overspill_operator::{testing, windows::WindowOperator};
//! let mut counts = testing::KeyedHost::<WindowOperator<Counts>>::new(&[]).unwrap();
//! counts.record("key", "a", 3_000);
//! counts.record("key", "b", 9_999);
//! counts.watermark(9_999);
//! assert_eq!(counts.take_values(), ["2 records from 0"]);
//! ```

mod assign;
mod operator;
mod state;
#[cfg(test)]
mod tests;

pub use assign::{TimeWindow, Windows};
pub use operator::WindowOperator;
pub use state::{OpenWindows, WindowCodec};

use crate::{
    Context, Description, KeyedRecord, Output, Rejection, SettingError, Settings, StateCodec,
};

/// An operator that gathers a key's records in windows.
///
/// It must be pure, as [`crate::Keyed`] says.
pub trait Windowed: Sized + 'static {
    /// What the operator says of itself. It keeps a state, so [`Description::state_schema`] is at
    /// least 1.
    const DESCRIPTION: Description;

    /// What a window gathers. The default is that of a window without a record.
    type Accumulator: Default;

    /// How that becomes bytes.
    type Codec: StateCodec<Self::Accumulator>;

    /// Sets the operator up, once, before the first record.
    ///
    /// # Errors
    /// When a setting's value is one that the operator can't take.
    fn new(settings: &Settings) -> Result<Self, SettingError>;

    /// The windows that records are gathered in.
    fn windows(&self) -> &Windows;

    /// Adds a record to a window, once for each window that it is in.
    ///
    /// # Errors
    /// When the record's data is wrong. It is then in no window.
    fn add(
        &self,
        record: KeyedRecord<'_>,
        gathered: &mut Self::Accumulator,
    ) -> Result<(), Rejection>;

    /// Adds what another window has gathered. Only sessions are merged, into the earlier one.
    ///
    /// # Panics
    /// Unless it is implemented, which an operator over sessions must do.
    fn merge(&self, gathered: &mut Self::Accumulator, other: Self::Accumulator) {
        let _ = (gathered, other);
        panic!("operator `{}` has sessions, and no `merge` for them", Self::DESCRIPTION.name);
    }

    /// Emits what became of a window. An output record has the key, and the window's last
    /// millisecond as its event time, unless they are set.
    fn result(&self, window: TimeWindow, gathered: &Self::Accumulator, context: &mut Context<'_>);

    /// What is done with a late record: unless this is implemented, it goes to the side output
    /// named by [`Windows::late_to`], or is dropped.
    fn late(&self, record: KeyedRecord<'_>, context: &mut Context<'_>) {
        if let Some(outlet) = self.windows().late_outlet() {
            context.emit_to(outlet, Output::new(record.value));
        }
    }
}
