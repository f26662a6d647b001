"""A run as one HTML file that needs nothing else."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from bc3e.federation.ledger import Ledger
from bc3e.federation.planning import Plan

TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ name }}: a run across {{ plan.sites | length }} sites</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: #1c2733; max-width: 70rem; margin: 2rem auto;
       padding: 0 1rem; }
table { border-collapse: collapse; margin: .8rem 0; display: block; overflow-x: auto; }
th, td { padding: .25rem .7rem; text-align: left; border-bottom: 1px solid #d8dee6; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
svg { max-width: 100%; height: auto; }
</style></head><body>
<h1>{{ name }}</h1>
<p>{{ plan.n_objects }} objects at {{ plan.sites | join(", ") }}.
{{ model.lower_bounds | length }} iterations in {{ "%.1f" | format(seconds) }} s,
{{ "converged" if model.converged else "stopped at the limit of iterations" }};
{{ ledger | length }} messages, {{ "{:,}".format(ledger.bytes) }} bytes.</p>
<h2>What the server learned</h2>
<table><tr><th>class</th><th>mean</th><th>variance</th></tr>
{% for i in range(model.classes | length) %}<tr><td>{{ model.classes[i] }}</td>
<td class="n">{{ "%.6g" | format(model.class_mean[i]) }}</td>
<td class="n">{{ "%.6g" | format(model.class_variance[i]) }}</td></tr>
{% endfor %}</table>
<p>delta2 {{ "%.6g" | format(model.delta2) }}, a cluster label counts
{{ "%.6g" | format(model.evidence_weight) }}, bound {{ "%.10g" | format(model.lower_bound) }}.</p>
<h2>Iterations</h2>
<table><tr><th>iteration</th><th>bound</th><th>delta2</th></tr>
{% for bound in model.lower_bounds %}<tr><td class="n">{{ loop.index }}</td>
<td class="n">{{ "%.8f" | format(bound) }}</td>
<td class="n">{{ "%.6g" | format(model.delta2_path[loop.index0]) }}</td></tr>
{% endfor %}</table>
<h2>Who plays which role</h2>
{{ picture }}
<h2>Messages</h2>
{{ messages }}
</body></html>
"""


def run_page(name: str, model: dict[str, Any], plan: Plan, ledger: Ledger, seconds: float) -> str:
    """The page of a finished run: what the server knows, and nothing of any object."""
    template = Environment(autoescape=True).from_string(TEMPLATE)
    return template.render(
        name=name,
        model=model,
        plan=plan,
        ledger=ledger,
        seconds=seconds,
        picture=Markup(plan.describe()._repr_svg_() or ""),
        messages=Markup(ledger._repr_html_()),
    )
