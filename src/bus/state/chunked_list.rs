//! A map in pieces that its clones share. A clone costs little at any size, and a change copies only the piece that it touches.
//!
//! A decision of several steps works on a clone of the state, and a snapshot is written from one. With hundreds of thousands of
//! unread messages a full copy would take longer than everything else together.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Index;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The most entries of one piece: copying it takes microseconds, and there are few pieces.
const PIECE: usize = 64;

/// A sorted map of any size.
#[derive(Clone)]
pub struct Chunked<K, V> {
    /// The pieces by their lower bounds. All keys of a piece are below the bound of the next one.
    pieces: BTreeMap<K, Arc<BTreeMap<K, V>>>,
    len: usize,
}

impl<K: Ord + Clone, V: Clone> Chunked<K, V> {
    fn piece(&self, key: &K) -> Option<&BTreeMap<K, V>> {
        let (_, piece) = self.pieces.range(..=key).next_back()?;
        Some(piece)
    }

    pub fn get(&self, key: &K) -> Option<&V> {
        self.piece(key)?.get(key)
    }

    pub fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        let (_, piece) = self.pieces.range_mut(..=key).next_back()?;
        if !piece.contains_key(key) {
            return None;
        }
        Arc::make_mut(piece).get_mut(key)
    }

    /// Inserts a value, and returns the one that it replaces.
    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        let Some((_, piece)) = self.pieces.range_mut(..=&key).next_back() else {
            // It goes before all others, into the first piece.
            let first = self.pieces.pop_first().map(|(_, first)| first);
            let mut first = first.unwrap_or_default();
            Arc::make_mut(&mut first).insert(key.clone(), value);
            self.len += 1;
            let rest = split(&mut first);
            self.pieces.insert(key, first);
            self.pieces.extend(rest);
            return None;
        };
        let before = Arc::make_mut(piece).insert(key, value);
        let rest = split(piece);
        self.pieces.extend(rest);
        self.len += usize::from(before.is_none());
        before
    }

    /// Removes a value, and returns it.
    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        let (bound, piece) = self.pieces.range_mut(..=key).next_back()?;
        if !piece.contains_key(key) {
            return None;
        }
        let piece = Arc::make_mut(piece);
        let removed = piece.remove(key);
        if piece.is_empty() {
            let bound = bound.clone();
            self.pieces.remove(&bound);
        }
        self.len -= 1;
        removed
    }

    /// Returns the entries in the order of their keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.pieces.values().flat_map(|piece| piece.iter())
    }

    /// Returns the keys in their order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// Returns the values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// Splits a piece that has grown too large, and returns its other half.
fn split<K: Ord + Clone, V: Clone>(
    piece: &mut Arc<BTreeMap<K, V>>,
) -> Option<(K, Arc<BTreeMap<K, V>>)> {
    if piece.len() <= PIECE {
        return None;
    }
    let middle = piece.keys().nth(PIECE / 2)?.clone();
    let rest = Arc::make_mut(piece).split_off(&middle);
    Some((middle, Arc::new(rest)))
}

impl<K, V> Default for Chunked<K, V> {
    fn default() -> Self {
        Self { pieces: BTreeMap::new(), len: 0 }
    }
}

impl<K: Ord + Clone, V: Clone> FromIterator<(K, V)> for Chunked<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut all = Self::default();
        for (key, value) in entries {
            all.insert(key, value);
        }
        all
    }
}

impl<K: Ord + Clone, V: Clone> Index<&K> for Chunked<K, V> {
    type Output = V;

    fn index(&self, key: &K) -> &V {
        self.get(key).expect("callers index only with keys of the map")
    }
}

/// Two maps with the same entries are equal however these are divided into pieces.
impl<K: Ord + Clone, V: Clone + PartialEq> PartialEq for Chunked<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && self.iter().eq(other.iter())
    }
}

impl<K: Ord + Clone, V: Clone + Eq> Eq for Chunked<K, V> {}

impl<K: Ord + Clone + fmt::Debug, V: Clone + fmt::Debug> fmt::Debug for Chunked<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<K: Ord + Clone + Serialize, V: Clone + Serialize> Serialize for Chunked<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, K: Ord + Clone + Deserialize<'de>, V: Clone + Deserialize<'de>> Deserialize<'de>
    for Chunked<K, V>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = BTreeMap::<K, V>::deserialize(deserializer)?;
        Ok(all.into_iter().collect())
    }
}

/// A sorted map of any size whose values are large. A change copies the pointers of a piece, and the one value that it touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkedLarge<K: Ord + Clone, V>(Chunked<K, Arc<V>>);

impl<K: Ord + Clone, V: Clone> ChunkedLarge<K, V> {
    pub fn get(&self, key: &K) -> Option<&V> {
        self.0.get(key).map(Arc::as_ref)
    }

    pub fn contains_key(&self, key: &K) -> bool {
        self.0.contains_key(key)
    }

    pub(super) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        self.0.get_mut(key).map(Arc::make_mut)
    }

    /// Inserts a value, and returns the one that it replaces.
    pub(super) fn insert(&mut self, key: K, value: V) -> Option<V> {
        self.0.insert(key, Arc::new(value)).map(Arc::unwrap_or_clone)
    }

    /// Removes a value, and returns it.
    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        self.0.remove(key).map(Arc::unwrap_or_clone)
    }

    /// Returns the entries in the order of their keys.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&K, &V)> {
        self.0.iter().map(|(key, value)| (key, value.as_ref()))
    }

    /// Returns the keys in their order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> {
        self.0.keys()
    }

    /// Returns the values in the order of their keys.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> {
        self.0.values().map(Arc::as_ref)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<K: Ord + Clone, V> Default for ChunkedLarge<K, V> {
    fn default() -> Self {
        Self(Chunked::default())
    }
}

impl<K: Ord + Clone, V: Clone> Index<&K> for ChunkedLarge<K, V> {
    type Output = V;

    fn index(&self, key: &K) -> &V {
        &self.0[key]
    }
}

impl<K: Ord + Clone + Serialize, V: Clone + Serialize> Serialize for ChunkedLarge<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, K: Ord + Clone + Deserialize<'de>, V: Clone + Deserialize<'de>> Deserialize<'de>
    for ChunkedLarge<K, V>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let all = BTreeMap::<K, V>::deserialize(deserializer)?;
        Ok(Self(all.into_iter().map(|(key, value)| (key, Arc::new(value))).collect()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_sorted_map_and_its_clones_stay_as_they_were(
            changes in proptest::collection::vec((any::<bool>(), 0..600u32), 0..2_000)
        ) {
            let (mut map, mut model) = (Chunked::default(), BTreeMap::new());
            let mut clones = Vec::new();
            for (number, (puts, key)) in changes.iter().enumerate() {
                if *puts {
                    prop_assert_eq!(map.insert(*key, number), model.insert(*key, number));
                } else {
                    prop_assert_eq!(map.remove(key), model.remove(key));
                }
                if let Some(value) = map.get_mut(&(key / 2)) {
                    *value += 1;
                    model.entry(key / 2).and_modify(|value| *value += 1);
                }
                if number % 500 == 0 {
                    clones.push((map.clone(), model.clone()));
                }
                prop_assert_eq!(map.get(key), model.get(key));
                prop_assert_eq!(map.len(), model.len());
            }
            clones.push((map, model));
            for (map, model) in clones {
                prop_assert!(map.iter().eq(model.iter()));
                prop_assert!(map.pieces.values().all(|piece| !piece.is_empty() && piece.len() <= PIECE));
                let json = serde_json::to_string(&map).unwrap();
                prop_assert_eq!(&json, &serde_json::to_string(&model).unwrap());
                prop_assert_eq!(serde_json::from_str::<Chunked<u32, usize>>(&json).unwrap(), map);
            }
        }
    }

    #[test]
    fn a_clone_shares_all_pieces_that_neither_side_changes() {
        let map: Chunked<u32, u32> = (0..10_000).map(|number| (number, number)).collect();
        let mut clone = map.clone();
        clone.insert(5_000, 1);
        let shared = map.pieces.iter().filter(|(bound, piece)| {
            let other = clone.pieces.get(bound);
            other.is_some_and(|other| Arc::ptr_eq(piece, other))
        });
        assert_eq!(shared.count(), map.pieces.len() - 1);
    }
}
