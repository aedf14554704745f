//! Chooses the lines of a tree that are shown if not all fit: running and asking steps first, then their neighbours.

use std::cmp::Reverse;

use crate::domain::workflow::StepStatus;

/// A line of the tree. Numbers are positions in the whole tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    Step(usize),
    /// Several steps that are only counted.
    Folded(Vec<usize>),
}

/// Returns at most `rows` lines for steps with these statuses.
pub(crate) fn fold(statuses: &[StepStatus], rows: usize) -> Vec<Row> {
    let all = 0..statuses.len();
    if statuses.len() <= rows {
        return all.map(Row::Step).collect();
    }
    let Some(but_one) = rows.checked_sub(1) else {
        return Vec::new();
    };
    let mut urgent: Vec<_> = all.filter(|at| is_urgent(statuses[*at])).collect();
    let mut kept = vec![false; statuses.len()];
    for at in &urgent {
        kept[*at] = true;
    }
    if cost(&kept) > rows {
        // There is no room for the steps between them: one line at the end counts all of those.
        urgent.sort_by_key(|at| (Reverse(statuses[*at] == StepStatus::Running), *at));
        urgent.truncate(but_one);
        urgent.sort_unstable();
        let rest = (0..statuses.len()).filter(|at| urgent.binary_search(at).is_err());
        let rest = Row::Folded(rest.collect());
        return urgent.into_iter().map(Row::Step).chain([rest]).collect();
    }
    for at in by_nearness(statuses, &urgent) {
        let before = std::mem::replace(&mut kept[at], true);
        if !before && cost(&kept) > rows {
            kept[at] = false;
        }
    }
    in_place(&kept)
}

fn is_urgent(status: StepStatus) -> bool {
    matches!(status, StepStatus::Running | StepStatus::Asking)
}

/// Returns all steps, those nearest to an urgent one first. If none is urgent, the first unfinished step takes its place.
fn by_nearness(statuses: &[StepStatus], urgent: &[usize]) -> Vec<usize> {
    let first = statuses.iter().position(|status| !status.is_final());
    let first = [first.unwrap_or_default()];
    let centres = if urgent.is_empty() { &first } else { urgent };
    let distance = |at: usize| centres.iter().map(|centre| at.abs_diff(*centre)).min();
    let mut all: Vec<_> = (0..statuses.len()).collect();
    // A failure precedes steps that are merely near.
    all.sort_by_key(|at| (statuses[*at] != StepStatus::Failed, distance(*at), *at));
    all
}

/// Returns how many lines are needed: one for each kept step, and one for each gap.
fn cost(kept: &[bool]) -> usize {
    let runs = kept.chunk_by(|one, next| !one && !next);
    runs.count()
}

fn in_place(kept: &[bool]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (at, is_kept) in kept.iter().enumerate() {
        match (is_kept, rows.last_mut()) {
            (true, _) => rows.push(Row::Step(at)),
            (false, Some(Row::Folded(hidden))) => hidden.push(at),
            (false, _) => rows.push(Row::Folded(vec![at])),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::StepStatus::{Asking, Done, Failed, Running, Waiting};
    use super::*;

    fn shown(rows: &[Row]) -> Vec<usize> {
        let steps = rows.iter().filter_map(|row| match row {
            Row::Step(at) => Some(*at),
            Row::Folded(_) => None,
        });
        steps.collect()
    }

    #[test]
    fn a_tree_that_fits_is_shown_whole() {
        assert_eq!(fold(&[Done, Waiting], 2), [Row::Step(0), Row::Step(1)]);
    }

    #[test]
    fn running_steps_stay_with_their_neighbours_and_gaps_are_counted_in_place() {
        let mut statuses = [vec![Done; 20], vec![Running], vec![Waiting; 20]].concat();
        let rows = fold(&statuses, 7);
        assert_eq!(rows[0], Row::Folded((0..18).collect()));
        assert_eq!(shown(&rows), [18, 19, 20, 21, 22]);
        assert_eq!(rows[6], Row::Folded((23..41).collect()));

        statuses[3] = Failed;
        let rows = fold(&statuses, 7);
        assert_eq!(shown(&rows), [3, 19, 20, 21]);
    }

    #[test]
    fn with_little_room_running_steps_precede_asking_ones() {
        let statuses = [Asking, Done, Running, Done, Running, Done, Asking];
        assert_eq!(shown(&fold(&statuses, 4)), [0, 2, 4]);
        assert_eq!(shown(&fold(&statuses, 3)), [2, 4]);
        assert_eq!(fold(&statuses, 1), [Row::Folded((0..7).collect())]);
        assert_eq!(fold(&statuses, 0), []);
    }

    #[test]
    fn the_lines_always_fit_and_count_every_step() {
        let some = [Done, Running, Waiting, Waiting, Done, Failed, Asking];
        for count in 0..40_usize {
            let statuses: Vec<_> = (0..count).map(|at| some[at * at % some.len()]).collect();
            for rows in 1..30 {
                let folded = fold(&statuses, rows);
                assert!(folded.len() <= rows, "{count} in {rows}: {folded:?}");
                let steps = folded.iter().map(|row| match row {
                    Row::Step(_) => 1,
                    Row::Folded(hidden) => hidden.len(),
                });
                assert_eq!(steps.sum::<usize>(), count);
            }
        }
    }
}
