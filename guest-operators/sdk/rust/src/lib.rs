//! Write an operator of a stream in Rust.
//!
//! An operator is a type that implements one of four traits; [`export!`] makes a WebAssembly
//! component of it, and that component imports nothing.
//!
//! | trait | what it looks at | what is kept |
//! |---|---|---|
//! | [`FlatMap`] | each record on its own | nothing |
//! | [`Keyed`] | each record with its key's state; it can set timers | a state for each key |
//! | [`windows::Windowed`] | the same, but in windows of time | what each window of a key gathers |
//! | [`Aggregate`] | each record with a partial result, and two of these | partial results, which merge in any order |
//!
//! All of them are pure: what comes out depends on what goes in, and the settings, alone. There is
//! no clock but the host's, no randomness and no files. That is why any part of the work can run on
//! any machine, and twice.
//!
//! # Each record on its own
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
//! # A state for each key
//!
//! The state comes in with a key's records and goes out again; nothing stays in the operator. It is
//! any type, with a codec that makes bytes of it: here one that serde knows, by [`Postcard`].
//!
//! ```
//! use overspill_operator::{
//!     Context, Description, KeyState, Keyed, KeyedRecord, Postcard, Rejection, SettingError,
//!     Settings, Timer,
//! };
//! use serde::{Deserialize, Serialize};
//!
//! /// Adds up what a customer buys, and says so when nothing has come for an hour.
//! struct Baskets;
//!
//! #[derive(Default, Deserialize, Serialize)]
//! struct Basket {
//!     total: u64,
//!     ends: i64,
//! }
//!
//! const HOUR: i64 = 3_600_000;
//!
//! impl Keyed for Baskets {
//!     const DESCRIPTION: Description = Description::new("baskets", "1.0.0").state_schema(1);
//!     type State = Basket;
//!     type Codec = Postcard;
//!
//!     fn new(_: &Settings) -> Result<Self, SettingError> {
//!         Ok(Self)
//!     }
//!
//!     fn process(
//!         &self,
//!         record: KeyedRecord<'_>,
//!         state: &mut KeyState<Basket>,
//!         context: &mut Context<'_>,
//!     ) -> Result<(), Rejection> {
//!         let price = str::from_utf8(record.value).ok().and_then(|text| text.parse::<u64>().ok());
//!         let price = price.ok_or_else(|| Rejection::new("expected a price in cents"))?;
//!         let time = record.timestamp.ok_or_else(|| Rejection::new("expected an event time"))?;
//!         let basket = state.get_or_default();
//!         context.cancel_event_timer(basket.ends);
//!         basket.total += price;
//!         basket.ends = basket.ends.max(time + HOUR);
//!         context.set_event_timer(basket.ends);
//!         Ok(())
//!     }
//!
//!     fn on_timer(&self, _: Timer, state: &mut KeyState<Basket>, context: &mut Context<'_>) {
//!         if let Some(basket) = state.take() {
//!             context.emit(basket.total.to_string().as_bytes());
//!         }
//!     }
//! }
//!
//! overspill_operator::export!(keyed Baskets);
//!
//! // Natively, with a host that keeps states and timers as the real one does.
//! use overspill_operator::testing::KeyedHost;
//! let mut baskets = KeyedHost::<Baskets>::new(&[]).unwrap();
//! baskets.record("ann", "250", 0);
//! baskets.record("ann", "100", HOUR / 2);
//! baskets.watermark(HOUR);
//! assert!(baskets.take().is_empty());
//! baskets.watermark(2 * HOUR);
//! let outputs = baskets.take();
//! assert_eq!((outputs[0].key.as_str(), outputs[0].value.as_str()), ("ann", "350"));
//! assert_eq!(baskets.state("ann"), None);
//! ```
//!
//! # Windows
//!
//! [`windows`] has an example, and says what is late.
//!
//! # States that merge
//!
//! A state that can be made in parts, in any order, lets a key's records be worked on in many
//! places at once. The host merges the parts, and finishes them when their window ends.
//!
//! ```
//! use overspill_operator::{
//!     Aggregate, Description, Emitter, KeyedRecord, LittleEndian, Rejection, SettingError, Settings,
//! };
//!
//! /// The longest value of each key.
//! struct Longest;
//!
//! impl Aggregate for Longest {
//!     const DESCRIPTION: Description = Description::new("longest", "1.0.0").state_schema(1);
//!     type Partial = u64;
//!     type Codec = LittleEndian;
//!
//!     fn new(_: &Settings) -> Result<Self, SettingError> {
//!         Ok(Self)
//!     }
//!
//!     fn accumulate(&self, record: KeyedRecord<'_>, longest: &mut u64) -> Result<(), Rejection> {
//!         *longest = (*longest).max(record.value.len() as u64);
//!         Ok(())
//!     }
//!
//!     fn merge(&self, longest: &mut u64, other: u64) {
//!         *longest = (*longest).max(other);
//!     }
//!
//!     fn finish(&self, _: &[u8], longest: u64, _: i64, out: &mut Emitter) {
//!         out.emit(longest.to_string().as_bytes());
//!     }
//! }
//!
//! overspill_operator::export!(aggregate Longest);
//!
//! use overspill_operator::testing;
//! let longest = testing::configure_aggregate::<Longest>(&[]).unwrap();
//! let whole = testing::aggregate(&longest, &[&["a", "bcd", "ef"]]);
//! assert_eq!(whole, ["3"]);
//! assert_eq!(testing::aggregate(&longest, &[&["bcd"], &["a", "ef"]]), whole);
//! ```
//!
//! # What happens to a batch
//!
//! ```text
//! batch (columns) -> Record (borrowed) -> your flat_map -> Emitter (columns) -> emission
//!                                              |
//!                                              +-> Rejection: its output is taken back
//!
//! groups (columns) -> KeyState -> your process, record by record -> Context -> outcome (columns)
//!                     (decoded     your on_timer, timer by timer      output, timers
//!                      once)           |
//!                                      +-> Rejection: output, timers and state are taken back
//! ```
//!
//! No record is copied on its way in, and what an operator writes goes straight into the columns
//! that go out. A state is decoded once a call, and encoded only if it was changed.

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
