//! Prints what a dets file holds: `cargo run --example dets -- FILE`.

use fyris_files::dets::Dets;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("a file is needed")?;
    let dets = Dets::open(file)?;
    println!("{:?}", dets.info());
    for row in dets.rows() {
        match row {
            Ok(row) => println!("{row}"),
            Err(error) => eprintln!("{error}"),
        }
    }
    Ok(())
}
