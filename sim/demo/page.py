"""The demo's page: one file that needs nothing else."""

import jinja2

from sim.cluster.activities import WAITS
from sim.collective import CollectiveResult
from sim.demo.operations import Demo
from sim.report.stalls_chart import stalls_svg
from sim.report.timeline import timeline_svg


def _busy(result: CollectiveResult) -> str:
    """How much of the time the busiest unit worked, which is what its bar shows first."""
    most = max(unit["working"] for unit in result.stalls)
    return f"The busiest offload unit works in {most / result.cycles:.0%} of {result.cycles:,} cycles"


def demo_page(demo: Demo) -> str:
    """The page as HTML: table of the operations, their timelines, and the numbers that came out."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sim.demo", "."), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )
    deviation = demo.moments.covariance.diagonal() ** 0.5
    return environment.get_template("page.html.j2").render(
        demo=demo,
        operations=[operation.as_dict() for operation in demo.operations],
        timelines=[
            timeline_svg(operation.result.events, without={"pulse", *WAITS}) for operation in demo.operations
        ],
        busy=[_busy(operation.result) for operation in demo.operations],
        stalls=[stalls_svg(operation.result.stalls) for operation in demo.operations],
        features=list(zip(demo.features, demo.moments.mean, deviation, strict=True)),
    )
