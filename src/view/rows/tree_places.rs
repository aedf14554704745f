//! The position of each step in the tree: below the step that it follows.

use std::collections::BTreeMap;

use crate::view::StepNode;

/// The position of a step in the tree.
#[derive(Debug)]
pub struct TreePlace<'s> {
    /// The step's position in the workflow.
    pub step: usize,
    /// Its dependencies besides the step above it.
    pub others: Vec<&'s str>,
    /// For each of its ancestors in the tree and itself, outermost first: whether a sibling follows below.
    pub continues: Vec<bool>,
}

impl TreePlace<'_> {
    /// Returns how many steps are above it in its branch, with itself.
    pub fn depth(&self) -> usize {
        self.continues.len()
    }
}

/// Returns all steps in the order of the tree.
pub fn tree_places(steps: &[StepNode]) -> Vec<TreePlace<'_>> {
    let shape = Shape::of(steps);
    let mut places = Vec::new();
    let mut open: Vec<(usize, Vec<bool>)> = shape.below(None, &[]);
    while let Some((step, continues)) = open.pop() {
        open.extend(shape.below(Some(step), &continues));
        places.push(TreePlace { step, others: shape.others(step), continues });
    }
    places
}

struct Shape<'s> {
    steps: &'s [StepNode],
    by_name: BTreeMap<&'s str, usize>,
    /// The parent of each step in the tree.
    parents: Vec<Option<usize>>,
}

impl<'s> Shape<'s> {
    fn of(steps: &'s [StepNode]) -> Self {
        let names = steps.iter().enumerate();
        let mut shape = Self {
            steps,
            by_name: names.map(|(at, step)| (step.name.as_str(), at)).collect(),
            parents: Vec::new(),
        };
        let mut depths = vec![None; steps.len()];
        shape.parents = (0..steps.len()).map(|at| shape.parent(at, &mut depths)).collect();
        shape
    }

    /// Returns the parent of a step. An item is below its step. Any other step is below its deepest dependency, the last if there
    /// are several, so all its dependencies are above it.
    fn parent(&self, at: usize, depths: &mut [Option<usize>]) -> Option<usize> {
        let step = &self.steps[at];
        if let Some(whole) = &step.item_of {
            return self.by_name.get(whole.as_str()).copied();
        }
        let before = self.before(at);
        before.max_by_key(|before| (self.depth(*before, depths), *before))
    }

    fn before(&self, at: usize) -> impl Iterator<Item = usize> {
        let names = self.steps[at].depends_on.iter();
        names.filter_map(|name| self.by_name.get(name.as_str()).copied())
    }

    /// Returns how many steps must end one after another before a step begins.
    fn depth(&self, at: usize, depths: &mut [Option<usize>]) -> usize {
        if let Some(known) = depths[at] {
            return known;
        }
        // A cycle, which no plan has, ends here.
        depths[at] = Some(0);
        let before = self.before(at);
        let depth = before.map(|before| self.depth(before, depths) + 1).max();
        depths[at] = depth.or(Some(0));
        depth.unwrap_or(0)
    }

    fn others(&self, at: usize) -> Vec<&'s str> {
        let step = &self.steps[at];
        if step.item_of.is_some() {
            return Vec::new();
        }
        let parent = self.parents[at].map(|parent| self.steps[parent].name.as_str());
        let names = step.depends_on.iter().map(String::as_str);
        names.filter(|name| parent != Some(*name)).collect()
    }

    /// Returns the steps below a step, or at the top, the last first.
    fn below(&self, above: Option<usize>, continues: &[bool]) -> Vec<(usize, Vec<bool>)> {
        let steps = (0..self.steps.len()).rev();
        let below = steps.filter(|at| self.parents[*at] == above);
        below
            .enumerate()
            .map(|(from_the_last, at)| (at, [continues, &[from_the_last > 0]].concat()))
            .collect()
    }
}
