//! Proptest strategies for specifications and objects.
