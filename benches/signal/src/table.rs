//! What is printed: each figure beside its target, and beside that of the token.

/// The targets were set on another machine, on which the token took the second of the times given for it.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

struct Row {
    name: &'static str,
    target: f64,
    ours: f64,
    /// What the token takes here, and what it took where the targets were set.
    token: Option<(f64, f64)>,
    /// Whether it is a time, not a count.
    time: bool,
}

impl Table {
    pub(crate) fn row(
        &mut self,
        name: &'static str,
        target: f64,
        ours: f64,
        token: Option<(f64, f64)>,
    ) {
        self.rows.push(Row {
            name,
            target,
            ours,
            token,
            time: true,
        });
    }

    pub(crate) fn count(&mut self, name: &'static str, target: f64, ours: u64, token: Option<u64>) {
        let token = token.map(|token| (token as f64, token as f64));
        self.rows.push(Row {
            name,
            target,
            ours: ours as f64,
            token,
            time: false,
        });
    }

    /// Prints the table and returns how many targets are missed.
    ///
    /// A time with a token beside it is measured by the ratio to the token. The others are by what the target would be on
    /// a machine as fast as this, for which the median of the token's times stands.
    pub(crate) fn print(&self) -> usize {
        let of_token = self
            .rows
            .iter()
            .filter(|row| row.time)
            .filter_map(|row| row.token);
        let mut speeds: Vec<f64> = of_token.map(|(here, there)| here / there).collect();
        speeds.sort_by(f64::total_cmp);
        let speed = speeds[speeds.len() / 2];
        let mut missed = 0;
        println!(
            "| ns, or a count                           |  target |    ours |   token | ratio | at most |"
        );
        println!(
            "|------------------------------------------|--------:|--------:|--------:|------:|--------:|"
        );
        for row in &self.rows {
            let (ratio, limit) = match row.token {
                Some((here, there)) if row.time => (row.ours / here, row.target / there),
                _ if row.time => (row.ours / row.target, speed),
                _ => (row.ours / row.target, 1.0),
            };
            let kept = ratio <= limit;
            missed += usize::from(!kept);
            let dash = || String::from("–");
            let token = row
                .token
                .map_or_else(dash, |(here, _)| format!("{here:.1}"));
            let (ratio, limit) = match row.token {
                Some(_) if row.time => (format!("{ratio:.2}"), format!("{limit:.2}")),
                _ => (dash(), dash()),
            };
            println!(
                "| {:<40} | {:>7.1} | {:>7.1} | {token:>7} | {ratio:>5} | {limit:>7} |{}",
                row.name,
                row.target,
                row.ours,
                if kept { "" } else { " missed" },
            );
        }
        println!(
            "The token takes {speed:.2} times (median) what it took where the targets were set."
        );
        missed
    }
}
