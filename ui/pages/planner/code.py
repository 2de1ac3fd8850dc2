"""The code behind the page planner."""

from mla_engine.model_caches import Plan, Step
from mla_engine.model_caches.flops import step_flops
from ui.pages.planner.view import View
from ui.settings.page import Functions


def ran(view: View) -> Functions:
    """What says how many sequences fit, and how fast they are at best."""
    fits = Plan.room_bytes.fget, Plan.sequence_bytes.fget, Plan.largest_batch.func
    if not view.plan.largest_batch:
        return *fits, Plan.fewest_gpus.fget
    if not view.plan.bounded:
        return fits
    return *fits, Plan.step, Step.seconds.fget, step_flops, Plan.computing_from.fget
