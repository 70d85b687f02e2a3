//! The methods of the pinned views of maps and of trees: those of the map or tree, with the pin put in.

/// Makes methods of a view that has the map in a field and the pin in `guard`. They take what stands in their brackets,
/// before or behind where the map's own take the pin (`;`), and above all a key, if any: `asked`, in any form that the
/// map can be asked with, `given`, as anything that a key can be made of, `pinned`, none; `unpinned`, no pin either.
/// What is returned lives as long as the view, `'g`.
macro_rules! pinned_methods {
    (
        $map:ident, asked: $asked:tt, given: $given:ident;
        $(
            $(#[$doc:meta])*
            $kind:ident $name:ident $args:tt $(-> $out:ty)? $(where $bounds:tt)?;
        )*
    ) => {
        $(
            pinned_methods! {
                @$kind $map $asked $given $args $(where $bounds)?;
                [$(#[$doc])*] $name $(-> $out)?
            }
        )*
    };
    (
        @asked $map:ident [$($asked:tt)+] $given:ident
        ($($b:ident: $before:ty),* $(; $($a:ident: $after:ty),*)?) $(where [$($bounds:tt)*])?;
        [$(#[$doc:meta])*] $name:ident -> $out:ty
    ) => {
        $(#[$doc])*
        #[inline]
        #[allow(clippy::needless_lifetimes, reason = "some return what lives so long")]
        pub fn $name<'g, Q>(&'g self, key: &Q $(, $b: $before)* $($(, $a: $after)*)?) -> $out
        where
            K: Borrow<Q::Key>,
            Q: AsKey<K> + ?Sized,
            Q::Key: $($asked)+,
            $($($bounds)*)?
        {
            self.$map.$name(key $(, $b)*, &self.guard $($(, $a)*)?)
        }
    };
    (
        @given $map:ident $asked:tt $given:ident
        ($($b:ident: $before:ty),* $(; $($a:ident: $after:ty),*)?) $(where [$($bounds:tt)*])?;
        [$(#[$doc:meta])*] $name:ident -> $out:ty
    ) => {
        $(#[$doc])*
        #[inline]
        pub fn $name<'g, G>(&'g self, key: G $(, $b: $before)* $($(, $a: $after)*)?) -> $out
        where
            S: $given<G, K, V>,
            $($($bounds)*)?
        {
            self.$map.$name(key $(, $b)*, &self.guard $($(, $a)*)?)
        }
    };
    (
        @pinned $map:ident $asked:tt $given:ident ($(; $($a:ident: $after:ty),*)?);
        [$(#[$doc:meta])*] $name:ident $(-> $out:ty)?
    ) => {
        $(#[$doc])*
        #[inline]
        #[allow(clippy::needless_lifetimes, reason = "some return what lives so long")]
        pub fn $name<'g>(&'g self $($(, $a: $after)*)?) $(-> $out)? {
            self.$map.$name(&self.guard $($(, $a)*)?)
        }
    };
    (
        @unpinned $map:ident $asked:tt $given:ident ();
        [$(#[$doc:meta])*] $name:ident -> $out:ty
    ) => {
        $(#[$doc])*
        pub fn $name(&self) -> $out {
            self.$map.$name()
        }
    };
}
pub(crate) use pinned_methods;
