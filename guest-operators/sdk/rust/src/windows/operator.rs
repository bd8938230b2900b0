//! Windows as a keyed operator.

use super::state::OpenWindow;
use super::{OpenWindows, TimeWindow, WindowCodec, Windowed, Windows};
use crate::{
    Context, Description, KeyState, Keyed, KeyedRecord, Rejection, SettingError, Settings,
    TimeDomain, Timer,
};

/// The keyed operator that a [`Windowed`] one is run as.
#[derive(Debug)]
pub struct WindowOperator<F> {
    inner: F,
    windows: Windows,
}

impl<F: Windowed> Keyed for WindowOperator<F> {
    const DESCRIPTION: Description = F::DESCRIPTION;
    type State = OpenWindows<F::Accumulator>;
    type Codec = WindowCodec<F::Codec>;

    fn new(settings: &Settings) -> Result<Self, SettingError> {
        let inner = F::new(settings)?;
        let windows = *inner.windows();
        Ok(Self { inner, windows })
    }

    fn process(
        &self,
        record: KeyedRecord<'_>,
        state: &mut KeyState<Self::State>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        let time = match self.windows.domain() {
            TimeDomain::ProcessingTime => context.processing_time(),
            TimeDomain::EventTime => record.timestamp.ok_or_else(|| {
                Rejection::new("expected a record with an event time, for windows")
            })?,
        };
        let now = self.now(context);
        if let Some(place) = self.open_window(time, now, state.get()) {
            let open = state.get_or_default();
            return self.inner.add(record, &mut open.windows[place].gathered);
        }
        let mut late = true;
        for mut window in self.windows.assign(time) {
            if self.windows.are_sessions() {
                window = whole_session(window, state.get());
            }
            if self.windows.cleanup(window) <= now {
                continue;
            }
            late = false;
            self.add(window, record, now, state.get_or_default(), context)?;
        }
        if late && self.windows.may_be_late(time, now) {
            self.inner.late(record, context);
        }
        Ok(())
    }

    fn on_timer(&self, timer: Timer, state: &mut KeyState<Self::State>, context: &mut Context<'_>) {
        // Everything that is due is done at once, so a later timer may find nothing to do.
        if state.get().and_then(|open| open.timer).is_none_or(|next| next > timer.time) {
            return;
        }
        let Some(open) = state.get_mut() else { return };
        let now = self.now(context).max(timer.time);
        self.fire_due(now, open, context);
        open.windows.retain(|open| self.windows.cleanup(open.window) > now);
        open.timer = open.windows.iter().map(|open| self.next(open)).min();
        match open.timer {
            Some(next) => self.set_timer(next, context),
            None => state.clear(),
        }
    }
}

impl<F: Windowed> WindowOperator<F> {
    /// The time by the clock that ends the windows.
    fn now(&self, context: &Context<'_>) -> i64 {
        match self.windows.domain() {
            TimeDomain::EventTime => context.watermark(),
            TimeDomain::ProcessingTime => context.processing_time(),
        }
    }

    /// The place of the one window that a record is in, if it is open, and hasn't fired: most
    /// records are so, and nothing but their window changes.
    fn open_window(
        &self,
        time: i64,
        now: i64,
        open: Option<&OpenWindows<F::Accumulator>>,
    ) -> Option<usize> {
        if !self.windows.are_tumbling() {
            return None;
        }
        let windows = &open?.windows;
        let place = windows.iter().rposition(|slot| slot.window.contains(time))?;
        (self.windows.due(windows[place].window) > now).then_some(place)
    }

    fn set_timer(&self, time: i64, context: &mut Context<'_>) {
        match self.windows.domain() {
            TimeDomain::EventTime => context.set_event_timer(time),
            TimeDomain::ProcessingTime => context.set_processing_timer(time),
        }
    }

    /// When there is next something to do for a window.
    fn next(&self, open: &OpenWindow<F::Accumulator>) -> i64 {
        match open.fired {
            true => self.windows.cleanup(open.window),
            false => self.windows.due(open.window),
        }
    }

    fn add(
        &self,
        window: TimeWindow,
        record: KeyedRecord<'_>,
        now: i64,
        open: &mut OpenWindows<F::Accumulator>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection> {
        let place = match self.windows.are_sessions() {
            true => self.open_session(window, open),
            false => open.open(window),
        };
        let slot = &mut open.windows[place];
        self.inner.add(record, &mut slot.gathered)?;
        // A record that comes after its window has fired fires it again, at once.
        slot.fired = self.windows.due(window) <= now;
        if slot.fired {
            self.emit(slot, context);
        }
        let next = self.next(slot);
        if open.timer.is_none_or(|timer| next < timer) {
            open.timer = Some(next);
            self.set_timer(next, context);
        }
        Ok(())
    }

    /// The place of a session that covers those of its sessions that it touches: they become one.
    fn open_session(&self, whole: TimeWindow, open: &mut OpenWindows<F::Accumulator>) -> usize {
        let windows = &mut open.windows;
        let Some(first) = windows.iter().position(|slot| slot.window.touches(whole)) else {
            return open.open(whole);
        };
        let behind = windows.iter().rposition(|slot| slot.window.touches(whole)).unwrap_or(first);
        let others: Vec<_> = windows.drain(first + 1..behind + 1).collect();
        let slot = &mut windows[first];
        slot.window = whole;
        for other in others {
            self.inner.merge(&mut slot.gathered, other.gathered);
        }
        first
    }

    /// Fires the windows that have ended by `now`, the earliest end first.
    fn fire_due(
        &self,
        now: i64,
        open: &mut OpenWindows<F::Accumulator>,
        context: &mut Context<'_>,
    ) {
        // Windows of one size, and sessions, end in the order in which they start.
        for slot in &mut open.windows {
            if !slot.fired && self.windows.due(slot.window) <= now {
                slot.fired = true;
                self.emit(slot, context);
            }
        }
    }

    fn emit(&self, slot: &OpenWindow<F::Accumulator>, context: &mut Context<'_>) {
        context.at(slot.window.last(), |context| {
            self.inner.result(slot.window, &slot.gathered, context);
        });
    }
}

/// What a record's own session becomes with those of the key that it touches.
fn whole_session<A>(own: TimeWindow, open: Option<&OpenWindows<A>>) -> TimeWindow {
    let open = open.map_or(&[][..], |open| &open.windows);
    let touched = open.iter().map(|slot| slot.window).filter(|window| window.touches(own));
    touched.fold(own, TimeWindow::cover)
}
