//! Maps, by the ways that a builder has for them.

use super::{Build, NOWHERE, Run, Shape, build};

impl<B: Build> Run<'_, '_, B> {
    pub(super) fn map(&mut self, at: usize, size: usize, depth: usize) -> (usize, B::Out) {
        if let Some(keys) = self
            .builder
            .likely_keys(size, self.bytes.get(at..).unwrap_or_default())
        {
            return self.likely_map(at, size, &keys, depth);
        }
        let Some(map) = self.builder.begin_map(size) else {
            return self.whole(at, size.saturating_mul(2), depth, B::map);
        };
        let mut end = at;
        for place in 0..size {
            let (key, value);
            (end, key) = self.term(end, depth + 1);
            (end, value) = self.term(end, depth + 1);
            if end == NOWHERE {
                return (end, map);
            }
            self.builder.put_pair(map, place, key, value);
        }
        (end, self.builder.end_map(map))
    }

    /// Builds a map whose keys are likely these. No byte is read twice, whatever the keys are: maps in maps would double
    /// that at each level.
    #[inline(never)]
    fn likely_map(
        &mut self,
        at: usize,
        size: usize,
        keys: &B::KeySet,
        depth: usize,
    ) -> (usize, B::Out) {
        let bottom = self.stack.len();
        let mut end = at;
        for place in 0..size {
            let key = B::key_at(keys, place);
            let is_it = cfg!(fyris_mutant = "term_keys_unread")
                || self
                    .bytes
                    .get(end..)
                    .is_some_and(|rest| rest.starts_with(key));
            if !is_it {
                return self.other_map(end, bottom, (place, size), keys, depth);
            }
            let value;
            (end, value) = self.term(end + key.len(), depth + 1);
            if end == NOWHERE {
                return self.nowhere();
            }
            self.stack.push(value);
        }
        let map = self.builder.map_of(keys, &self.stack[bottom..]);
        self.stack.truncate(bottom);
        (end, map)
    }

    /// Builds a map of which only some keys, the first ones, are these; their values are on the stack.
    #[cold]
    fn other_map(
        &mut self,
        at: usize,
        bottom: usize,
        (known, size): (usize, usize),
        keys: &B::KeySet,
        depth: usize,
    ) -> (usize, B::Out) {
        let values = self.stack.split_off(bottom);
        for (place, value) in values.into_iter().enumerate() {
            let mut key = B::key_at(keys, place);
            match build(&mut key, &[], self.builder, self.stack) {
                Ok(key) => self.stack.extend([key, value]),
                Err(error) => return self.fail(at, error.kind),
            }
        }
        let end = self.terms(at, (size - known).saturating_mul(2), depth);
        if end == NOWHERE {
            return self.nowhere();
        }
        let map = self.builder.map(&self.stack[bottom..]);
        self.stack.truncate(bottom);
        (end, map)
    }

    #[inline(never)]
    pub(super) fn shaped(
        &mut self,
        at: usize,
        shape: &'static Shape,
        depth: usize,
    ) -> (usize, B::Out) {
        let Some(map) = self.builder.begin_shape(shape) else {
            return self.whole_shaped(at, shape, depth);
        };
        let mut end = at;
        for place in 0..shape.keys().len() {
            let value;
            (end, value) = self.term(end, depth + 1);
            if end == NOWHERE {
                return (end, map);
            }
            self.builder.put_value(map, place, value);
        }
        (end, self.builder.end_shape(map))
    }

    /// Builds a map with a shape by the way of other maps.
    fn whole_shaped(&mut self, at: usize, shape: &Shape, depth: usize) -> (usize, B::Out) {
        let bottom = self.stack.len();
        let mut end = at;
        for key in shape.keys() {
            let key = self.builder.atom(*key);
            let value;
            (end, value) = self.term(end, depth + 1);
            if end == NOWHERE {
                return self.nowhere();
            }
            self.stack.extend([key, value]);
        }
        let map = self.builder.map(&self.stack[bottom..]);
        self.stack.truncate(bottom);
        (end, map)
    }
}
