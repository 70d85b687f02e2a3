//! Maps, by the ways that a builder has for them.

use super::{Build, NOWHERE, Run, Shape, build};

impl<B: Build> Run<'_, '_, B> {
    pub(super) fn map(&mut self, at: usize, size: usize, depth: usize) -> (usize, B::Out) {
        let pairs = self.bytes.get(at..).unwrap_or_default();
        if let Some(keys) = self.builder.likely_keys(size, pairs) {
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

    /// Builds a map whose keys are likely these. No value is built twice, also if a key is another one: in nested maps
    /// the time would double at each level.
    #[inline(always)]
    fn likely_map(
        &mut self,
        at: usize,
        size: usize,
        keys: &B::KeySet,
        depth: usize,
    ) -> (usize, B::Out) {
        let bottom = self.stack.len();
        let (mut end, known) = self.values_of(at, size, keys, depth);
        if known < size && end != NOWHERE {
            end = match self.put_keys(end, bottom, keys) {
                true => self.terms(end, (size - known).saturating_mul(2), depth),
                false => NOWHERE,
            };
        }
        if end == NOWHERE {
            return self.nowhere();
        }
        let map = match known == size {
            true => self.builder.map_of(keys, &self.stack[bottom..]),
            false => self.builder.map(&self.stack[bottom..]),
        };
        self.stack.truncate(bottom);
        (end, map)
    }

    /// Puts the values of these keys on the stack, up to a key that is another one, and returns where they end and how
    /// many they are.
    #[inline(never)]
    fn values_of(
        &mut self,
        at: usize,
        size: usize,
        keys: &B::KeySet,
        depth: usize,
    ) -> (usize, usize) {
        let mut end = at;
        for place in 0..size {
            let key = B::key_at(keys, place);
            let is_it = cfg!(fyris_mutant = "term_keys_unread")
                || self
                    .bytes
                    .get(end..)
                    .is_some_and(|rest| rest.starts_with(key));
            if !is_it {
                return (end, place);
            }
            let value;
            (end, value) = self.term(end + key.len(), depth + 1);
            if end == NOWHERE {
                return (end, place);
            }
            self.stack.push(value);
        }
        (end, size)
    }

    /// Puts the first of these keys before the values above `bottom`, and returns whether that was done: not if one is
    /// wrong.
    #[cold]
    #[inline(never)]
    fn put_keys(&mut self, at: usize, bottom: usize, keys: &B::KeySet) -> bool {
        let values = self.stack.split_off(bottom);
        for (place, value) in values.into_iter().enumerate() {
            let mut key = B::key_at(keys, place);
            match build(&mut key, &[], self.builder, self.stack) {
                Ok(key) => self.stack.extend([key, value]),
                Err(error) => {
                    self.fail(at, error.kind);
                    return false;
                }
            }
        }
        true
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
