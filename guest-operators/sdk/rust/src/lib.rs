//! Write an operator of a stream in Rust.
//!
//! An operator is a type that implements [`FlatMap`]: it looks at one record at a time, which it
//! borrows, and emits none, one or many. [`export!`] makes a WebAssembly component of it, and
//! that component imports nothing.
//!
//! ```
//! use overspill_operator::{
//!     Description, Emitter, FlatMap, Record, Rejection, Setting, SettingError, Settings,
//! };
//!
//! /// Emits the fields of a line.
//! struct Fields {
//!     separator: u8,
//! }
//!
//! impl FlatMap for Fields {
//!     const DESCRIPTION: Description = Description::new("fields", "1.0.0").settings(&[
//!         Setting::with_default("separator", "One ASCII character between two fields.", ","),
//!     ]);
//!
//!     fn new(settings: &Settings) -> Result<Self, SettingError> {
//!         match settings.get("separator").as_bytes() {
//!             &[separator] if separator.is_ascii() => Ok(Self { separator }),
//!             _ => Err(settings.refuse("separator", "expected one ASCII character")),
//!         }
//!     }
//!
//!     fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection> {
//!         if record.value.is_empty() {
//!             return Err(Rejection::new("expected a line, found nothing"));
//!         }
//!         for field in record.value.split(|&byte| byte == self.separator) {
//!             out.emit(field);
//!         }
//!         Ok(())
//!     }
//! }
//!
//! overspill_operator::export!(Fields);
//!
//! // The same code, natively: this is how an operator is tested.
//! use overspill_operator::testing;
//! let fields = testing::configure::<Fields>(&[("separator", ";")]).unwrap();
//! assert_eq!(testing::values(&fields, ["a;b", "", "c"]), [b"a", b"b", b"c"]);
//! # let emission = testing::run(&fields, ["a;b", "", "c"]);
//! # assert_eq!(emission.ends, [2, 2, 3]);
//! # assert_eq!(emission.rejected[0].index, 1);
//! ```
//!
//! What happens to a batch:
//!
//! ```text
//! batch (columns) -> Record (borrowed) -> your flat_map -> Emitter (columns) -> emission
//!                                              |
//!                                              +-> Rejection: its output is taken back
//! ```
//!
//! No record is copied on its way in, and what an operator writes goes straight into the columns
//! of the emission. An operator has no clock, no randomness and no files: its output depends on
//! the record and the settings alone, which is why any batch may run anywhere.

mod aggregate;
mod batch;
mod codec;
mod description;
mod emitter;
#[doc(hidden)]
#[cfg(target_arch = "wasm32")]
pub mod guest;
mod keyed;
mod operator;
mod overrides;
mod runner;
mod settings;
pub mod testing;
pub mod text;
pub mod windows;

pub use aggregate::{Aggregate, AggregateRunner, Partials, RecordGroups, Results};
pub(crate) use batch::NO_TIME;
pub use batch::{Batch, Column, Emission, RejectedRecord};
pub use codec::{LittleEndian, Postcard, Raw, StateCodec};
pub use description::{CONTRACT, Description, Outlet, Setting};
pub use emitter::{Emitter, Output, ValueWriter, Window};
pub use keyed::{
    Context, Groups, KeyState, Keyed, KeyedRecord, KeyedRunner, MigrateState, Outcome, StateChange,
    TimeDomain, Timer, Timers,
};
pub use operator::{FlatMap, Record, Rejection};
pub use runner::{Runner, run_native};
pub use settings::{SettingError, Settings};

/// Makes a component of an operator. Write it once in a crate:
///
/// | the type implements | write |
/// |---|---|
/// | [`FlatMap`] | `export!(Tokenizer)` |
/// | [`Keyed`] | `export!(keyed Counter)` |
/// | [`Keyed`] and [`MigrateState`] | `export!(migrating keyed Counter)` |
/// | [`windows::Windowed`] | `export!(windowed Counts)` |
/// | [`Aggregate`] | `export!(aggregate Sum)` |
///
/// Built for another target than WebAssembly it does nothing, so that the crate can be tested
/// natively.
#[macro_export]
macro_rules! export {
    (migrating keyed $operator:ty) => {
        $crate::export!(@export migrating, $crate::MigrateState, $operator);
    };
    (keyed $operator:ty) => {
        $crate::export!(@export keyed, $crate::Keyed, $operator);
    };
    (windowed $operator:ty) => {
        $crate::export!(keyed $crate::windows::WindowOperator<$operator>);
    };
    (aggregate $operator:ty) => {
        $crate::export!(@export aggregate, $crate::Aggregate, $operator);
    };
    (@export $world:ident, $trait:path, $operator:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            type Component = $crate::guest::$world::Component<$operator>;
            $crate::guest::$world::export!(
                Component with_types_in $crate::guest::$world::bindings
            );
        };
        #[cfg(not(target_arch = "wasm32"))]
        const _: () = {
            const fn is_an_operator<O: $trait>() {}
            is_an_operator::<$operator>();
        };
    };
    ($operator:ty) => {
        $crate::export!(@export flatmap, $crate::FlatMap, $operator);
    };
}
