//! Maps written pair by pair, in whatever order the caller meets them.
//!
//! A map's bytes hold its keys in exact order and then its values in the order of their keys. The pairs are written as
//! they come, and put in order when the map ends: the exact form of a key sorts by `memcmp`, so no term is looked at
//! again.

use super::writer::KeyWriter;

/// A map that is being written.
pub(super) struct MapFrame {
    /// The place of its first pair.
    start: Place,
    pairs: Vec<PairPlaces>,
}

/// A place in all that is being written.
#[derive(Clone, Copy)]
struct Place {
    order: usize,
    marks: usize,
    rest: usize,
}

/// The place of a pair.
struct PairPlaces {
    key: Place,
    value: Place,
    end: Place,
}

impl KeyWriter<'_> {
    /// Begins a map of `size` pairs: for each, in any order, [`KeyWriter::map_key`], the key, [`KeyWriter::map_value`]
    /// and the value; then [`KeyWriter::end_map`]. The keys must be different. O(bytes + size log size).
    pub fn begin_map(&mut self, size: usize) {
        self.map_head(size);
        let start = self.place();
        self.maps.push(MapFrame {
            start,
            pairs: Vec::new(),
        });
    }

    /// Makes the next term the key of a pair.
    pub fn map_key(&mut self) {
        self.end_pair();
        let at = self.place();
        if let Some(frame) = self.maps.last_mut() {
            frame.pairs.push(PairPlaces {
                key: at,
                value: at,
                end: at,
            });
        }
        self.exact += 1;
    }

    /// Makes the next term the value that belongs to the key just written.
    pub fn map_value(&mut self) {
        self.exact = self.exact.saturating_sub(1);
        let at = self.place();
        if let Some(pair) = self
            .maps
            .last_mut()
            .and_then(|frame| frame.pairs.last_mut())
        {
            pair.value = at;
        }
    }

    /// Ends the map that was begun last.
    pub fn end_map(&mut self) {
        self.end_pair();
        let Some(MapFrame { start, mut pairs }) = self.maps.pop() else {
            return;
        };
        let bytes = self.out.split_off(start.order);
        let rest = self.rest.split_off(start.rest);
        let marks: Vec<_> = (start.marks..self.marks.count())
            .map(|index| self.marks.get(index))
            .collect();
        self.marks.truncate(start.marks);
        let order =
            |from: Place, to: Place| &bytes[from.order - start.order..to.order - start.order];
        pairs.sort_by(|a, b| order(a.key, a.value).cmp(order(b.key, b.value)));
        let keys = pairs.iter().map(|pair| (pair.key, pair.value));
        let values = pairs.iter().map(|pair| (pair.value, pair.end));
        for (from, to) in keys.chain(values) {
            self.out.extend(order(from, to));
            self.rest
                .extend(&rest[from.rest - start.rest..to.rest - start.rest]);
            for &mark in &marks[from.marks - start.marks..to.marks - start.marks] {
                self.marks.push(mark);
            }
        }
    }

    /// Ends the pair written last, if any.
    fn end_pair(&mut self) {
        let at = self.place();
        if let Some(pair) = self
            .maps
            .last_mut()
            .and_then(|frame| frame.pairs.last_mut())
        {
            pair.end = at;
        }
    }

    fn place(&self) -> Place {
        Place {
            order: self.out.len(),
            marks: self.marks.count(),
            rest: self.rest.len(),
        }
    }
}
