//! Files of rows: a row source each for CSV and JSON (`csv_file`; `json_lines`, on `json_array`) on `rows`, `readings`
//! and `infer`, and the way back: `writer`, what has been written (`check`), and what would keep it (`kinds`). Uses
//! `screen`, and no tables.

pub(crate) mod check;
pub(crate) mod csv_file;
mod infer;
mod json_array;
pub(crate) mod json_lines;
pub(crate) mod kinds;
pub(crate) mod readings;
pub(crate) mod rows;
pub(crate) mod writer;
