//! A counterexample made as small as it can be.

use super::{Case, Difference, Element};

/// How many smaller cases are tried.
const MOST_TRIES: usize = 3000;

/// A case that is no larger, and for which `broken` still gives a difference: fewer elements,
/// fewer cuts, one key, no times, shorter values.
pub(super) fn smallest(
    case: Case,
    difference: Difference,
    mut broken: impl FnMut(&Case) -> Option<Difference>,
) -> (Case, Difference) {
    let mut best = (case, difference);
    let mut tries = 0;
    loop {
        let smaller = candidates(&best.0).into_iter().find_map(|case| {
            tries += 1;
            if tries > MOST_TRIES {
                return None;
            }
            broken(&case).map(|difference| (case, difference))
        });
        match smaller {
            Some(smaller) => best = smaller,
            None => return best,
        }
    }
}

/// Smaller cases, those first that take away the most.
fn candidates(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let len = case.elements.len();
    let mut size = len / 2;
    while size > 0 {
        all.extend((0..len).step_by(size).filter_map(|begin| without(case, begin, size)));
        size /= 2;
    }
    if case.cuts.len() > 1 {
        all.extend((0..case.cuts.len()).map(|cut| {
            let mut case = case.clone();
            case.cuts.remove(cut);
            case
        }));
    }
    for index in 0..len {
        let Element::Record(record) = &case.elements[index] else { continue };
        let mut with = |change: &dyn Fn(&mut super::Record)| {
            let mut changed = record.clone();
            change(&mut changed);
            if changed != *record {
                let mut case = case.clone();
                case.elements[index] = Element::Record(changed);
                all.push(case);
            }
        };
        with(&|record| record.value.truncate(record.value.len() / 2));
        with(&|record| record.value.truncate(record.value.len().saturating_sub(1)));
        with(&|record| record.key = 0);
        with(&|record| record.input = 0);
        with(&|record| record.time = 0);
    }
    all
}

/// The case without some elements, if there is still something to cut.
fn without(case: &Case, begin: usize, size: usize) -> Option<Case> {
    let end = (begin + size).min(case.elements.len());
    let mut elements = case.elements.clone();
    elements.drain(begin..end);
    let moved = |cut: usize| match cut {
        cut if cut <= begin => cut,
        cut if cut <= end => begin,
        cut => cut - (end - begin),
    };
    let mut cuts: Vec<usize> = case.cuts.iter().map(|&cut| moved(cut)).collect();
    cuts.dedup();
    cuts.retain(|&cut| cut > 0 && cut < elements.len());
    let sound = cuts.len() == case.cuts.len() || (!cuts.is_empty() && cuts.len() < case.cuts.len());
    (sound && !elements.is_empty()).then_some(Case { elements, cuts })
}
