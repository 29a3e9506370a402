"""Synchronous training survives killed tasks, and counts every gradient once."""


import pytest

import chaos


@pytest.mark.parametrize("mode", ["sync", "backup"])
def test_no_gradient_is_lost_or_applied_twice_when_tasks_are_killed(mode):
    told = ["--mode", mode, "--kills", "6", "--every", "1", "--steps", "1500", "--limit", "180", "--silence", "60"]
    summary, steps, _ = chaos.run(chaos.parser().parse_args(told))
    assert len(set(steps)) > 3, summary
