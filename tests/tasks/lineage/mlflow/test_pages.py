"""MLflow's pages begin without a notice of usage data that is not collected, and keep what a person chose."""

from tasks.lineage.mlflow.pages import REMEMBERED, quieted


def test_a_first_visit_remembers_what_is_true_here_before_the_page_asks() -> None:
    page = quieted('<!doctype html><html><head><script src="main.js"></script></head></html>')
    head, _, rest = page.partition("</script>")
    assert rest.startswith('<script src="main.js">')
    for name in REMEMBERED:
        # A person's own choice stays.
        assert f'localStorage.getItem("{name}")??localStorage.setItem("{name}",' in head
    assert '"mlflow.settings.telemetry.enabled_v1","false"' in head
