//! Files of rows: a row source each for CSV and JSON (`csv_file`; `json_lines`, on `json_array`) on `rows` and `infer`,
//! and what their texts were before (`readings`, `kinds`). Uses `screen`, and no tables.

pub(crate) mod csv_file;
mod infer;
mod json_array;
pub(crate) mod json_lines;
pub(crate) mod kinds;
pub(crate) mod readings;
pub(crate) mod rows;
