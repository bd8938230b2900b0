//! The edges of a stage: what comes in, with the watermarks of all edges made one, and what goes
//! out.
//!
//! Each edge has a channel of its own, so that a watermark stands among the records of its edge.
//! Back-pressure: a stage reads nothing while what it has finished waits for a slow successor, and
//! the bounded channels carry that upstream.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Select, Sender, TryRecvError, TrySendError};

use super::failure::EngineError;
use crate::burst::WatermarkMerge;
use crate::pipeline::envelope::{Element, Envelope};

/// How many finished envelopes may wait for one successor before no more work is started.
pub(super) const MAX_UNSENT: usize = 16;

/// An edge that ends at a stage.
#[derive(Clone, Debug)]
pub(super) struct InputEdge {
    pub(super) receiver: Receiver<Element>,
    /// The operator's number of the input that it is part of.
    pub(super) input: u8,
    /// After which silence it no longer holds the watermark back; absent: never.
    pub(super) idle_after: Option<Duration>,
}

/// What comes in.
pub(super) enum Arrival {
    /// Records, by the input of this number.
    Records(u8, Box<Envelope>),
    /// The watermark of all edges together has risen to this.
    Watermark(i64),
    /// Every edge is idle.
    Idle,
}

/// The edges that end at a stage.
pub(super) struct Inputs {
    edges: Vec<Edge>,
    merge: WatermarkMerge,
    /// The edge that is looked at first next time, so that none starves.
    next: usize,
    /// Whether [`Arrival::Idle`] was the last to be said.
    idle: bool,
}

struct Edge {
    edge: InputEdge,
    open: bool,
    idle: bool,
    last: Instant,
}

impl Inputs {
    pub(super) fn new(edges: Vec<InputEdge>) -> Self {
        let last = Instant::now();
        let merge = WatermarkMerge::new(edges.len());
        let edges = edges.into_iter().map(|edge| Edge { edge, open: true, idle: false, last });
        Self { edges: edges.collect(), merge, next: 0, idle: false }
    }

    /// Whether more may come.
    pub(super) fn is_open(&self) -> bool {
        self.edges.iter().any(|edge| edge.open)
    }

    /// The watermark of all edges together; the least value while nothing is known.
    pub(super) fn watermark(&self) -> i64 {
        self.merge.merged()
    }

    /// What is there now, if anything is.
    pub(super) fn next(&mut self) -> Option<Arrival> {
        for turn in 0..self.edges.len() {
            let number = (self.next + turn) % self.edges.len();
            while self.edges[number].open {
                let edge = &mut self.edges[number];
                let risen = match edge.edge.receiver.try_recv() {
                    Ok(Element::Records(envelope)) => {
                        let input = edge.edge.input;
                        self.woken(number);
                        self.next = number + 1;
                        return Some(Arrival::Records(input, envelope));
                    }
                    Ok(Element::Watermark(watermark)) => {
                        self.woken(number);
                        self.merge.advance(number, watermark)
                    }
                    Ok(Element::Idle) => {
                        edge.idle = true;
                        self.merge.idle(number)
                    }
                    // A stage says by a watermark that it has ended: one that just goes has failed.
                    Err(TryRecvError::Disconnected) => {
                        edge.open = false;
                        None
                    }
                    Err(TryRecvError::Empty) => break,
                };
                if let Some(watermark) = risen {
                    return Some(Arrival::Watermark(watermark));
                }
            }
        }
        self.fall_silent(Instant::now())
    }

    fn woken(&mut self, number: usize) {
        let edge = &mut self.edges[number];
        edge.last = Instant::now();
        self.idle = false;
        if std::mem::take(&mut edge.idle) {
            self.merge.active(number);
        }
    }

    /// Finds edges that have been silent for too long.
    fn fall_silent(&mut self, now: Instant) -> Option<Arrival> {
        for number in 0..self.edges.len() {
            let edge = &mut self.edges[number];
            let silent = edge.edge.idle_after.is_some_and(|after| now >= edge.last + after);
            if silent && edge.open && !edge.idle {
                edge.idle = true;
                if let Some(watermark) = self.merge.idle(number) {
                    return Some(Arrival::Watermark(watermark));
                }
            }
        }
        let mut open = self.edges.iter().filter(|edge| edge.open).peekable();
        if !self.idle && open.peek().is_some() && open.all(|edge| edge.idle) {
            self.idle = true;
            return Some(Arrival::Idle);
        }
        None
    }

    /// When an edge that is silent becomes an idle one.
    pub(super) fn next_silence(&self) -> Option<Instant> {
        let waiting = self.edges.iter().filter(|edge| edge.open && !edge.idle);
        waiting.filter_map(|edge| Some(edge.last + edge.edge.idle_after?)).min()
    }

    /// Wakes `select` up when something comes.
    pub(super) fn watch<'a>(&'a self, select: &mut Select<'a>) {
        for edge in self.edges.iter().filter(|edge| edge.open) {
            select.recv(&edge.edge.receiver);
        }
    }
}

/// The edges that begin at a stage, by outlet: 0 is the main output.
pub(super) struct Outputs {
    stage: String,
    /// Nothing comes in: the successors are told when all that came before is through.
    falling_idle: bool,
    edges: Vec<OutputEdge>,
    /// The edges of each outlet, by their place in `edges`.
    outlets: Vec<Vec<usize>>,
}

struct OutputEdge {
    sender: Sender<Element>,
    unsent: VecDeque<Element>,
}

impl Outputs {
    /// `outlets` holds the channels of each outlet.
    pub(super) fn new(stage: &str, outlets: Vec<Vec<Sender<Element>>>) -> Self {
        let mut edges = Vec::new();
        let mut places = Vec::new();
        for senders in outlets {
            let first = edges.len();
            edges.extend(
                senders.into_iter().map(|sender| OutputEdge { sender, unsent: VecDeque::new() }),
            );
            places.push((first..edges.len()).collect());
        }
        Self { stage: stage.to_owned(), falling_idle: false, edges, outlets: places }
    }

    /// Sends records to all that read an outlet. Records that nobody reads end here.
    pub(super) fn records(&mut self, outlet: usize, envelope: Envelope) {
        match self.outlets.get(outlet).and_then(|edges| edges.split_last()) {
            None => envelope.traces.finish(),
            Some((&last, others)) => {
                let envelope = Box::new(envelope);
                for &edge in others {
                    self.edges[edge].unsent.push_back(Element::Records(envelope.clone()));
                }
                self.edges[last].unsent.push_back(Element::Records(envelope));
            }
        }
    }

    /// Sends a watermark along every edge.
    pub(super) fn watermark(&mut self, watermark: i64) {
        for edge in &mut self.edges {
            edge.unsent.push_back(Element::Watermark(watermark));
        }
    }

    /// Notes that nothing comes in for now, or that something has come.
    pub(super) fn input_is_idle(&mut self, idle: bool) {
        self.falling_idle = idle;
    }

    /// Nothing is in the stage any more. If nothing comes in either, its successors are told not to
    /// wait for it: not before, as a watermark that is still held back would end their knowledge.
    pub(super) fn stage_is_empty(&mut self) {
        if std::mem::take(&mut self.falling_idle) {
            for edge in &mut self.edges {
                edge.unsent.push_back(Element::Idle);
            }
        }
    }

    /// Hands on what the successors take now.
    ///
    /// # Errors
    /// When one of them has gone.
    pub(super) fn flush(&mut self) -> Result<(), EngineError> {
        for edge in &mut self.edges {
            while let Some(element) = edge.unsent.pop_front() {
                match edge.sender.try_send(element) {
                    Ok(()) => {}
                    Err(TrySendError::Full(element)) => {
                        edge.unsent.push_front(element);
                        break;
                    }
                    Err(TrySendError::Disconnected(_)) => {
                        return Err(EngineError::SuccessorGone { stage: self.stage.clone() });
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether everything has been handed on.
    pub(super) fn is_empty(&self) -> bool {
        self.edges.iter().all(|edge| edge.unsent.is_empty())
    }

    /// Whether so much waits for a successor that no more work should be started.
    pub(super) fn is_full(&self) -> bool {
        self.edges.iter().any(|edge| edge.unsent.len() >= MAX_UNSENT)
    }

    /// Wakes `select` up when a successor takes something.
    pub(super) fn watch<'a>(&'a self, select: &mut Select<'a>) {
        for edge in self.edges.iter().filter(|edge| !edge.unsent.is_empty()) {
            select.send(&edge.sender);
        }
    }
}
