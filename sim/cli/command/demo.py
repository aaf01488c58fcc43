"""`conic demo`: four nodes all-reduce a real data set; a table, and a page with a timeline."""

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from firmware_models.files import write_text
from sim.cli.shared.console import answer, progress_bars
from sim.cli.shared.example import example
from sim.cli.shared.paths import OUTPUT_FILE_ANYWHERE
from sim.cli.shared.refusal import fails, refuses
from sim.collective import CollectiveError
from sim.demo.operations import Demo, run_demo
from sim.demo.page import demo_page


@click.command("demo", epilog=example("conic demo --output build/demo/index.html"))
@click.option("--output", "page", type=OUTPUT_FILE_ANYWHERE, show_default=True,
              default=Path("build/demo/index.html"), help="Where to write the page.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@refuses()
@fails(CollectiveError)
def command(*, page: Path, as_json: bool) -> int:
    """Spreads a data set over four nodes and computes its mean and covariance through the RTL, every bit checked."""
    with progress_bars() as progress:
        demo = run_demo(progress)
    page.parent.mkdir(parents=True, exist_ok=True)
    write_text(page, demo_page(demo))
    if as_json:
        answer({
            "operations": [operation.as_dict() for operation in demo.operations], "same_moments": demo.same_moments,
            "page": str(page),
        }, as_json=True)
    else:
        _print(demo, page)
    return 0 if demo.holds else 1


def _print(demo: Demo, page: Path) -> None:
    console = Console(soft_wrap=True)
    table = Table(title=f"{sum(demo.samples)} samples of {len(demo.features)} features on {len(demo.samples)} nodes")
    for heading in ("collective", "algorithm"):
        table.add_column(heading, no_wrap=True)
    for heading in ("bytes", "cycles", "mismatched\nbits"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("sha256", no_wrap=True)
    for row in (operation.as_dict() for operation in demo.operations):
        table.add_row(row["collective"], row["algorithm"], f"{row['bytes']:,}", f"{row['cycles']:,}",
                      str(row["mismatched_bits"]), f"{row['sha256'][:8]}…")
    console.print(table)
    verdict = "the same bits as" if demo.same_moments else "NOT the same bits as"
    console.print(f"Mean and covariance at every node: {verdict} from the golden sums.")
    console.print(f"Timeline of every node: {page}")
