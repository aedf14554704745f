//! Which lines of a tree are shown where not all fit: what runs and what asks first, then what is near to that.

use std::cmp::Reverse;

use crate::domain::workflow::StepStatus;

/// A line of the tree. Numbers are places in the whole tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    Step(usize),
    /// Several steps that are only counted.
    Folded(Vec<usize>),
}

/// Returns at most so many lines for steps that stand so.
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
        // There is no room for what lies between them: all of that is counted in one line at the end.
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

/// Returns all steps, the nearest to an urgent one first; where there is none, the nearest to the first that has not ended.
fn by_nearness(statuses: &[StepStatus], urgent: &[usize]) -> Vec<usize> {
    let first = statuses.iter().position(|status| !status.is_final());
    let first = [first.unwrap_or_default()];
    let centres = if urgent.is_empty() { &first } else { urgent };
    let distance = |at: usize| centres.iter().map(|centre| at.abs_diff(*centre)).min();
    let mut all: Vec<_> = (0..statuses.len()).collect();
    // A failure is told before what is merely near.
    all.sort_by_key(|at| (statuses[*at] != StepStatus::Failed, distance(*at), *at));
    all
}

/// Returns how many lines it takes: one for each that is kept, and one for each gap.
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
    fn what_fits_is_shown_whole() {
        assert_eq!(fold(&[Done, Waiting], 2), [Row::Step(0), Row::Step(1)]);
    }

    #[test]
    fn what_runs_stays_with_what_is_near_and_the_rest_is_counted_where_it_stands() {
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
    fn where_there_is_hardly_room_what_runs_comes_before_what_asks() {
        let statuses = [Asking, Done, Running, Done, Running, Done, Asking];
        assert_eq!(shown(&fold(&statuses, 4)), [0, 2, 4]);
        assert_eq!(shown(&fold(&statuses, 3)), [2, 4]);
        assert_eq!(fold(&statuses, 1), [Row::Folded((0..7).collect())]);
        assert_eq!(fold(&statuses, 0), []);
    }

    #[test]
    fn it_is_never_more_than_there_is_room_for_and_nothing_is_lost() {
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
